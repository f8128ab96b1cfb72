"""`GpDynamics`, and measurement strategies on their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ocorl


def data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X, U = random.uniform(-2, 2, size=(n, 2)), random.uniform(-1, 1, size=(n, 1))
    return X, np.column_stack([X[:, 1], np.sin(X[:, 0]) + U[:, 0]]), U


def test_it_has_the_manners_of_scikit_learn() -> None:
    X, D, U = data(60)
    model = ocorl.GpDynamics(kernel="matern-5/2", noise=[0.01, 0.02])
    assert model.get_params()["kernel"] == "matern-5/2" and repr(model) == "GpDynamics(kernel='matern-5/2', noise=[0.01, 0.02])"
    assert model.fit(X, D, U=U) is model
    assert (model.n_points_, model.n_outputs_, model.n_features_in_) == (60, 2, 3)
    assert model.lengthscale_.shape == (2, 3) and model.kernel_ == "matern-5/2" and model.beta_.tolist() == [1.0, 1.0]
    assert model.jitter_.tolist() == [0.0, 0.0] and model.notes_ == [] and len(model.log_likelihood_) == 2
    X2, D2, U2 = data(50, 1)
    assert model.score(X2, D2, U2) > 0.99
    Z = np.hstack([X2, U2])
    mean, std = model.predict(Z, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X2, U2))
    assert std.shape == (50, 2) and (std > 0).all() and (np.abs(mean - D2) < 6 * std + 0.1).all()
    mean, covariance = model.predict(Z, return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)).T, std, rtol=1e-6)
    h = 1e-6
    moved = Z + [h, 0, 0]
    np.testing.assert_allclose(
        model.jacobian(Z)[:, :, 0], (model.predict(moved) - model.predict(Z)) / h, rtol=1e-3, atol=1e-4
    )
    assert model.predict(Z[0]).shape == (1, 2)
    with pytest.raises(ocorl.UserError, match="no parameter 'colour'"):
        model.set_params(colour="red")


def test_equal_data_give_equal_models() -> None:
    X, D, U = data(40)
    a, b = (ocorl.GpDynamics(seed=3).fit(X, D, U=U) for _ in range(2))
    z = np.hstack([X, U])[:5] + 0.1
    np.testing.assert_array_equal(a.predict(z), b.predict(z))
    restored = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(a.predict(z), restored.predict(z))
    drawn = a.draw(5)
    np.testing.assert_array_equal(drawn(z), a.draw(5)(z))
    np.testing.assert_allclose(drawn(z)[:2], drawn(z[:2]))
    assert np.abs(drawn(z) - a.predict(z)).max() < 1.0


def test_trajectories_may_differ_in_length() -> None:
    X, D, U = data(60)
    whole = ocorl.GpDynamics().fit(X, D, U=U)
    parts = ocorl.GpDynamics().fit([X[:10], X[10:25], X[25:]], [D[:10], D[10:25], D[25:]], U=[U[:10], U[10:25], U[25:]])
    z = np.hstack([X, U])[:4] + 0.2
    np.testing.assert_array_equal(whole.predict(z), parts.predict(z))
    without = ocorl.GpDynamics().fit([X[:20], X[20:]], [D[:20] * 0 + X[:20], X[20:]])
    assert without.n_features_in_ == 2 and without.predict([[0.5, 0.5]]).shape == (1, 2)


@pytest.mark.parametrize("method", ["smoothing", "local-polynomial"])
def test_derivatives_are_estimated_where_there_are_none(method: str) -> None:
    t = np.linspace(0, 4, 60)
    runs = [np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in (0.5, 1.0, 1.5)]
    noisy = [run + np.random.default_rng(2).normal(scale=1e-4, size=run.shape) for run in runs]
    model = ocorl.GpDynamics(method=method, state_noise=1e-4).fit(noisy, t=[t, t, t + 3.0])
    z = np.array([[0.3, 0.4], [-0.5, 0.6]])
    np.testing.assert_allclose(model.predict(z), np.column_stack([z[:, 1], -z[:, 0]]), atol=0.05)
    one = ocorl.GpDynamics(method=method, state_noise=1e-4).fit(noisy[1], t=t, U=np.sin(t))
    assert one.n_features_in_ == 3


def test_bands_of_estimated_derivatives_contain_the_true_ones() -> None:
    system, noise, inside = ocorl.System("pendulum"), 0.01, []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        runs = []
        for _ in range(3):
            a, b = rng.uniform(0, 6, 2)
            law = lambda t, x, a=a, b=b: [2 * np.sin(1.3 * t + a) + np.sin(0.5 * t + b)]  # noqa: E731
            runs.append(system.simulate(law, x0=[rng.uniform(-1, 1), 0], dt=0.1))
        noisy = [run.x + noise * rng.normal(size=run.x.shape) for run in runs]
        model = ocorl.GpDynamics(state_noise=noise).fit(noisy, t=[run.t for run in runs], U=[run.u for run in runs])
        x, u = np.concatenate([run.x for run in runs]), np.concatenate([run.u for run in runs])
        mean, std = model.predict(x, u, return_std=True)
        inside.append((np.abs(system.derivative(x, u) - mean) < 1.96 * std).mean(axis=0))
    assert np.mean(inside, axis=0).min() > 0.8, inside


def test_mistakes_are_named() -> None:
    X, D, U = data(20)
    for fit, message in [
        (lambda: ocorl.GpDynamics().fit(X), "the times are needed"),
        (lambda: ocorl.GpDynamics().fit(X, D[:-1]), r"shape \(19, 2\), expected \(20, 2\)"),
        (lambda: ocorl.GpDynamics().fit(X, D, U=U[:-1]), "'U' has 19"),
        (lambda: ocorl.GpDynamics().fit(np.where(X > 1, np.nan, X), D), "finite"),
        (lambda: ocorl.GpDynamics(kernel="cosine").fit(X, D), "no kernel 'cosine'"),
        (lambda: ocorl.GpDynamics(kernel="rbf + cosine").fit(X, D), "no kernel 'cosine'"),
        (lambda: ocorl.GpDynamics(kernel="rbf +").fit(X, D), "these are no settings of a model"),
        (lambda: ocorl.GpDynamics(noise=-1.0).fit(X, D), "noise"),
        (lambda: ocorl.GpDynamics(angles=[7]).fit(X, D), "angle"),
        (lambda: ocorl.GpDynamics().fit(X, t=np.zeros(20)), "must increase"),
        (lambda: ocorl.GpDynamics().fit([X, X], [D]), "2 trajectories"),
        (lambda: ocorl.GpDynamics().predict([[0.0, 0.0]]), "not fitted"),
        (lambda: ocorl.GpDynamics().fit(X, D).predict([[0.0]]), r"expected \(n, 2\)"),
        (lambda: ocorl.GpDynamics().fit(X, D).predict([[0.0, np.inf]]), "must be finite"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            fit()


def test_strategies_choose_on_their_own() -> None:
    X, D, U = data(15)
    model = ocorl.GpDynamics().fit(X, D, U=U)
    t = np.linspace(0, 10, 101)
    z = np.column_stack([3 * np.sin(t), 3 * np.cos(t), np.zeros_like(t)])
    for strategy in ("max-determinant", "max-kernel-distance", "oracle", "equidistant"):
        chosen = ocorl.choose_times(strategy, model, t, z, 6)
        assert chosen.dtype == np.intp and len(set(chosen.tolist())) == 6
    assert ocorl.choose_times("equidistant", model, t, z, 3).tolist() == [0, 50, 100]
    first = ocorl.choose_times("oracle", model, t, z, 1)[0]
    std = model.predict(z, return_std=True)[1]
    assert first == np.argmax((std**2).sum(axis=1))
    for strategy, count, message in [
        ("receding-horizon", 3, "cannot choose"),
        ("best", 3, "no strategy 'best'"),
        ("oracle", 200, "200 of 101"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            ocorl.choose_times(strategy, model, t, z, count)
    assert len(ocorl.choose_times("oracle", model, t, z, 0)) == 0


def test_trajectories_are_told_from_rows() -> None:
    """A list of arrays is trajectories, also of one state and also of one trajectory."""
    t = np.linspace(0.0, 3.0, 12)
    model = ocorl.GpDynamics().fit([np.sin(t), np.sin(t[:7])], [np.cos(t), np.cos(t[:7])])
    assert (model.n_points_, model.n_outputs_) == (19, 1)
    alone = ocorl.GpDynamics().fit([np.sin(t)[:, None]], t=[t])
    assert alone.n_outputs_ == 1
    rows = ocorl.GpDynamics().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    assert (rows.n_points_, rows.n_outputs_) == (3, 2)
    for act, message in [
        (lambda: ocorl.GpDynamics().fit(np.zeros((3, 0)), np.zeros((3, 0))), "no columns"),
        (lambda: model.predict([[0.0]], return_std=True, return_cov=True), "contradict"),
        (lambda: ocorl.GpDynamics(noise=[0.1, 0.2]).fit(np.sin(t), np.cos(t)), "'noise' has the shape"),
        (lambda: ocorl.GpDynamics(seed=-1).fit(np.sin(t), np.cos(t)), "from 0 on"),
        (lambda: ocorl.choose_times("oracle", object(), [0.0], [[0.0]], 1), "cannot be a object"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            act()


def test_scikit_learn_takes_it_for_a_regressor() -> None:
    base = pytest.importorskip("sklearn.base")
    assert base.is_regressor(ocorl.GpDynamics())


def test_a_list_of_rows_is_rows_whatever_they_are_made_of() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    one, other = ocorl.GpDynamics().fit(X, np.sin(X)), ocorl.GpDynamics().fit(list(X), list(np.sin(X)))
    assert (other.n_points_, other.n_outputs_) == (30, 2)
    np.testing.assert_array_equal(one.predict(X), other.predict(list(X)))


def test_numbers_of_numpy_are_numbers_and_shapes_are_looked_at() -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = ocorl.GpDynamics(restarts=np.int64(1), beta=np.float32(2.0), shared_lengthscales=np.True_).fit(X, np.sin(X))
    assert model.beta_ == pytest.approx(2.0)
    for act, message in [
        (lambda: model.score(X, X[:, :1]), "'X_dot' has the shape"),
        (lambda: model.predict([[1.0], [1.0, 2.0]]), "array of numbers"),
        (lambda: model.predict("four"), "array of numbers"),
        (lambda: model.predict(X, U=np.zeros((3, 1))), "'U' has 3"),
        (lambda: ocorl.GpDynamics(restarts=object()).fit(X, X), "cannot be a object"),
        (lambda: ocorl.choose_times("oracle", model, [0.0, np.nan], X[:2], 1), "not finite"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            act()
