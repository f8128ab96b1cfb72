"""Sketch of a node for ROS 2 (not run by the tests; needs rclpy): one episode of a study per call of its service.

Topics: `state` (Float64MultiArray: theta, omega), `input` (Float64MultiArray: torque). Service: `episode` (std_srvs/Trigger).
"""

from __future__ import annotations

import sys

import numpy as np
import rclpy
from rclpy.node import Node
from simulated_rig import PERIOD, TASK, Record
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import ocorl


class Episodes(Node):
    """Follows the plans of a study with a timer, and tells the study what was measured."""

    def __init__(self, folder: str) -> None:
        super().__init__("ocorl")
        self._study = ocorl.Study.open_or_create(folder, TASK)
        self._state, self._plan, self._controller, self._record, self._k = None, None, None, Record(), 0
        self._inputs = self.create_publisher(Float64MultiArray, "input", 1)
        self.create_subscription(Float64MultiArray, "state", self._hear, 1)
        self.create_service(Trigger, "episode", self._begin)
        self.create_timer(PERIOD, self._step)

    def _hear(self, message: Float64MultiArray) -> None:
        self._state = np.array(message.data)

    def _begin(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._plan = self._study.ask()
        response.success = self._plan is not None and self._state is not None
        if response.success:
            self._controller, self._record, self._k = self._plan.controller(), Record(), 0
        response.message = "running" if response.success else "the study is finished, or no state has arrived"
        return response

    def _step(self) -> None:
        if self._controller is None:
            return
        x, t = self._state, self._k * PERIOD
        self._record.x.append(x)
        if t >= self._plan.horizon - 1e-9:
            receipt = self._study.tell(self._plan, **self._record.told(self._plan.measure_at))
            self.get_logger().info(f"episode {receipt.episode}: {receipt.stored} measurements")
            self._controller = None
            u = np.array(self._plan.safe_control)
        else:
            u = self._controller(t, x)
            self._record.u.append(float(u[0]))
            self._k += 1
        self._inputs.publish(Float64MultiArray(data=u.tolist()))


if __name__ == "__main__":
    rclpy.init()
    rclpy.spin(Episodes(sys.argv[1]))
