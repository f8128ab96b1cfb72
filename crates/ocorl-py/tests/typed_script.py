"""What a user with a type checker writes: `mypy --strict` must have nothing to say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import ocorl


def f(x: npt.NDArray[np.float64], u: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.array([x[1], np.sin(x[0]) + u[0]])


def main() -> None:
    result: ocorl.Result = ocorl.run("pendulum", seed=0, quiet=True)
    costs: npt.NDArray[np.float64] = result.costs
    optimum: float | None = result.optimum
    system = ocorl.System(
        f, states=["theta", "omega"], inputs={"tau": (-5, 5)}, x0=[np.pi, 0], horizon=10, cost=ocorl.quadratic(Q=[1, 1], R=[1])
    )
    with ocorl.Study.open_or_create("lab", system, seed=1) as study:
        for plan in study:
            controller = plan.controller(mpc=True)
            u: npt.NDArray[np.float64] = controller(0.0, plan.x0)
            receipt: ocorl.Receipt = study.tell(plan, t=[0.0], x=[plan.x0], u=[u])
            stored: int = receipt.stored
            print(stored, plan.policy(0.0, plan.x0))
        learned: ocorl.GpDynamics = study.model()
    again = ocorl.run(
        system, model=learned, set=ocorl.Settings(plan=ocorl.PlanSettings(intervals=50)), until=ocorl.Until(patience=3), progress="log"
    )
    print(again.best.cost, again.plan.planned_cost, again.controller().period)
    model = ocorl.GpDynamics(noise=0.01).fit(np.zeros((3, 2)), np.zeros((3, 2)))
    times: npt.NDArray[np.intp] = ocorl.choose_times("oracle", model, [0.0], [[0.0, 0.0]], 1)
    try:
        ocorl.optimal(system)
    except ocorl.OcorlError as error:
        print(error.hint, error.details, costs, optimum, times)


if __name__ == "__main__":
    main()
