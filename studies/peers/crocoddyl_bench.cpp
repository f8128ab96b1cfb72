// Crocoddyl's SolverDDP and SolverFDDP on three small optimal control problems, timed in C++.
//
//   minimize    Σ_{k<N} dt (xₖᵀxₖ + (uₖ − ū)ᵀ(uₖ − ū)) + x_Nᵀx_N
//   subject to  xₖ₊₁ = xₖ + dt f(xₖ, uₖ),   N = 100, dt = 0.1,   start: uₖ = ū for all k
//
// Everything that would slow Crocoddyl down for no reason is avoided: derivatives are analytic, calcDiff reuses the
// sines of calc (the solver always calls calc first), entries of the Jacobians and Hessians that never change are
// written once, and nothing is allocated inside a solve by this file.
//
//   crocoddyl_bench [--repeats n] [--suffix text]    one JSON object per line and solver
//   crocoddyl_bench --check                          test vectors and derivatives; exit code 1 on failure
//
// Define NATIVE_SOLVER to build without Crocoddyl's library, its solvers' source files compiled beside this one.

#include <crocoddyl/core/action-base.hpp>
#include <crocoddyl/core/optctrl/shooting.hpp>
#include <crocoddyl/core/solvers/ddp.hpp>
#include <crocoddyl/core/solvers/fddp.hpp>
#include <crocoddyl/core/states/euclidean.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef NATIVE_SOLVER
template class crocoddyl::StateAbstractTpl<double>;
template class crocoddyl::StateVectorTpl<double>;
template class crocoddyl::StateAbstractTpl<float>;
template class crocoddyl::StateVectorTpl<float>;
template class crocoddyl::ActionModelAbstractTpl<double>;
template struct crocoddyl::ActionDataAbstractTpl<double>;
template class crocoddyl::ShootingProblemTpl<double>;
#endif

namespace {

using crocoddyl::ActionDataAbstract;
using crocoddyl::ActionModelAbstract;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int NODES = 100;
constexpr double DT = 0.1;
constexpr double STOP = 1e-9;  // expected decrease of the cost; Crocoddyl's default
constexpr int MAX_ITERATIONS = 500;

// ---------------------------------------------------------------------------------------------------------------
// The systems. Each has
//   rates<T>(x, u, out) -> Terms<T>   out = f(x, u); T is double, or complex for the derivative check;
//                                     the returned terms are what `jacobian` can reuse
//   constants(fx, fu)                 entries of I + dt ∂f/∂x and dt ∂f/∂u that never change (matrices start at 0)
//   jacobian(terms, x, u, fx, fu)     the other entries
//   target(j), start(i)               ū and x₀
// ---------------------------------------------------------------------------------------------------------------

// State (θ, θ̇), θ = 0 upright:   θ̈ = (9.81 / 5) sin θ + u.
struct Pendulum {
    static constexpr const char* name = "pendulum";
    static constexpr int nx = 2, nu = 1;
    static constexpr double GRAVITY_OVER_LENGTH = 9.81 / 5.0;

    template <typename T>
    struct Terms {
        T cosine;
    };

    template <typename T>
    static Terms<T> rates(const T* x, const T* u, T* out) {
        using std::cos, std::sin;
        const T s = sin(x[0]), c = cos(x[0]);
        out[0] = x[1];
        out[1] = GRAVITY_OVER_LENGTH * s + u[0];
        return {c};
    }

    static void constants(MatrixXd& fx, MatrixXd& fu) {
        fx.setIdentity();
        fx(0, 1) = DT;
        fu(1, 0) = DT;
    }

    static void jacobian(const Terms<double>& t, const double*, const double*, MatrixXd& fx, MatrixXd&) {
        fx(1, 0) = DT * GRAVITY_OVER_LENGTH * t.cosine;
    }

    static double target(int) { return 0.0; }
    static double start(int i) { return i == 0 ? M_PI : 0.0; }
};

// State (θ, θ̇, p, ṗ), θ = 0 upright. With D = M + m sin²θ,
//   θ̈ = (−m L sin θ cos θ θ̇² + (M + m) g sin θ + cos θ u) / (D L)
//   p̈ = (−m L sin θ θ̇² + m g sin θ cos θ + u) / D.
struct CartPole {
    static constexpr const char* name = "cart-pole";
    static constexpr int nx = 4, nu = 1;
    static constexpr double M = 1.0, m = 0.5, L = 0.5, g = 0.2;

    template <typename T>
    struct Terms {
        T s, c, inverse_d, angular, linear;  // the last two are θ̈ and p̈
    };

    template <typename T>
    static Terms<T> rates(const T* x, const T* u, T* out) {
        using std::cos, std::sin;
        const T s = sin(x[0]), c = cos(x[0]), w = x[1];
        const T inverse_d = 1.0 / (M + m * s * s);
        const T swing = m * L * s * w * w;
        const T angular = (-swing * c + (M + m) * g * s + c * u[0]) * inverse_d * (1.0 / L);
        const T linear = (-swing + m * g * s * c + u[0]) * inverse_d;
        out[0] = w;
        out[1] = angular;
        out[2] = x[3];
        out[3] = linear;
        return {s, c, inverse_d, angular, linear};
    }

    static void constants(MatrixXd& fx, MatrixXd& fu) {
        fx.setIdentity();
        fx(0, 1) = DT;
        fx(2, 3) = DT;
        fu.setZero();
    }

    static void jacobian(const Terms<double>& t, const double* x, const double* u, MatrixXd& fx, MatrixXd& fu) {
        const double s = t.s, c = t.c, w = x[1], e = DT * t.inverse_d;
        const double slope = 2.0 * m * s * c;  // ∂D/∂θ
        const double cos2 = c * c - s * s;     // cos 2θ
        const double mlww = m * L * w * w;
        fx(1, 0) = e * ((-mlww * cos2 + (M + m) * g * c - s * u[0]) * (1.0 / L) - t.angular * slope);
        fx(1, 1) = 1.0 - e * slope * w;  // (2 m L sin θ cos θ θ̇) / (D L)
        fx(3, 0) = e * (-mlww * c + m * g * cos2 - t.linear * slope);
        fx(3, 1) = e * (-2.0 * m * L * s * w);
        fu(1, 0) = e * c * (1.0 / L);
        fu(3, 0) = e;
    }

    static double target(int) { return 0.0; }
    static double start(int i) { return i == 0 ? M_PI : 0.0; }
};

// State (position 3, velocity 3, roll φ, pitch θ, yaw ψ in Z-X-Y order, body rates p, q, r);
// control (thrust F, normalised moments w₁, w₂, w₃). With a = F / m, w = −sin θ p + cos θ r,
//   v̇ = (a (cψ sθ + cθ sφ sψ), a (sψ sθ − cψ cθ sφ), a cφ cθ − g)
//   φ̇ = cθ p + sθ r,   θ̇ = q − tan φ w,   ψ̇ = w / cos φ
//   ω̇ = I⁻¹ n,   n = (2e-4 w₁, 2e-4 w₂, 1e-3 w₃) − ω × I ω.
struct Quadrotor3d {
    static constexpr const char* name = "quadrotor-3d";
    static constexpr int nx = 12, nu = 4;
    static constexpr double MASS = 0.18, g = 0.81;
    static constexpr double IXX = 2.5e-4, IYY = 2.32e-4, IZZ = 3.738e-4, IXZ = 2.55e-6;
    static constexpr double ROLL_PITCH_MOMENT = 2e-4, YAW_MOMENT = 1e-3;
    // I⁻¹ = [[JXX, 0, JXZ], [0, JYY, 0], [JXZ, 0, JZZ]]
    static constexpr double DETERMINANT = IXX * IZZ - IXZ * IXZ;
    static constexpr double JXX = IZZ / DETERMINANT, JZZ = IXX / DETERMINANT, JXZ = -IXZ / DETERMINANT;
    static constexpr double JYY = 1.0 / IYY;

    template <typename T>
    struct Terms {
        T sphi, cphi, stheta, ctheta, spsi, cpsi;
        T inverse_cphi, tphi, w, roll_rate;
    };

    template <typename T>
    static Terms<T> rates(const T* x, const T* u, T* out) {
        using std::cos, std::sin;
        const T sphi = sin(x[6]), cphi = cos(x[6]);
        const T stheta = sin(x[7]), ctheta = cos(x[7]);
        const T spsi = sin(x[8]), cpsi = cos(x[8]);
        const T p = x[9], q = x[10], r = x[11];
        const T a = u[0] * (1.0 / MASS);
        const T inverse_cphi = 1.0 / cphi, tphi = sphi * inverse_cphi;
        const T roll_rate = ctheta * p + stheta * r;
        const T w = ctheta * r - stheta * p;
        out[0] = x[3];
        out[1] = x[4];
        out[2] = x[5];
        out[3] = a * (cpsi * stheta + ctheta * sphi * spsi);
        out[4] = a * (spsi * stheta - cpsi * ctheta * sphi);
        out[5] = a * cphi * ctheta - g;
        out[6] = roll_rate;
        out[7] = q - tphi * w;
        out[8] = w * inverse_cphi;
        const T n1 = ROLL_PITCH_MOMENT * u[1] - IXZ * p * q + (IYY - IZZ) * q * r;
        const T n2 = ROLL_PITCH_MOMENT * u[2] + (IZZ - IXX) * p * r + IXZ * (p * p - r * r);
        const T n3 = YAW_MOMENT * u[3] + (IXX - IYY) * p * q + IXZ * q * r;
        out[9] = JXX * n1 + JXZ * n3;
        out[10] = JYY * n2;
        out[11] = JXZ * n1 + JZZ * n3;
        return {sphi, cphi, stheta, ctheta, spsi, cpsi, inverse_cphi, tphi, w, roll_rate};
    }

    static void constants(MatrixXd& fx, MatrixXd& fu) {
        fx.setIdentity();
        for (int i = 0; i < 3; ++i) fx(i, i + 3) = DT;
        fx(7, 10) = DT;
        fu.setZero();
        fu(9, 1) = DT * JXX * ROLL_PITCH_MOMENT;
        fu(11, 1) = DT * JXZ * ROLL_PITCH_MOMENT;
        fu(10, 2) = DT * JYY * ROLL_PITCH_MOMENT;
        fu(9, 3) = DT * JXZ * YAW_MOMENT;
        fu(11, 3) = DT * JZZ * YAW_MOMENT;
    }

    static void jacobian(const Terms<double>& t, const double* x, const double* u, MatrixXd& fx, MatrixXd& fu) {
        const double p = x[9], q = x[10], r = x[11];
        const double b = DT / MASS, a = b * u[0];
        const double ct_sph = t.ctheta * t.sphi, st_sph = t.stheta * t.sphi, ct_cph = t.ctheta * t.cphi;
        const double ux = t.cpsi * t.stheta + ct_sph * t.spsi;
        const double uy = t.spsi * t.stheta - t.cpsi * ct_sph;
        // roll, then pitch, then yaw: column by column as the matrices are stored
        const double dwc = DT * t.w * t.inverse_cphi;
        fx(3, 6) = a * ct_cph * t.spsi;
        fx(4, 6) = -a * ct_cph * t.cpsi;
        fx(5, 6) = -a * ct_sph;
        fx(7, 6) = -dwc * t.inverse_cphi;
        fx(8, 6) = dwc * t.tphi;
        const double dphi = DT * t.roll_rate;
        fx(3, 7) = a * (t.cpsi * t.ctheta - st_sph * t.spsi);
        fx(4, 7) = a * (t.spsi * t.ctheta + st_sph * t.cpsi);
        fx(5, 7) = -a * t.cphi * t.stheta;
        fx(6, 7) = DT * t.w;
        fx(7, 7) = 1.0 + dphi * t.tphi;
        fx(8, 7) = -dphi * t.inverse_cphi;
        fx(3, 8) = -a * uy;
        fx(4, 8) = a * ux;
        const double dst = DT * t.stheta, dct = DT * t.ctheta;
        fx(6, 9) = dct;
        fx(7, 9) = dst * t.tphi;
        fx(8, 9) = -dst * t.inverse_cphi;
        fx(6, 11) = dst;
        fx(7, 11) = -dct * t.tphi;
        fx(8, 11) = dct * t.inverse_cphi;
        // ω̇: derivatives of n = (n₁, n₂, n₃) by p, q, r, then the constant inverse inertia
        const double n1p = -IXZ * q, n1q = (IYY - IZZ) * r - IXZ * p, n1r = (IYY - IZZ) * q;
        const double n2p = (IZZ - IXX) * r + 2.0 * IXZ * p, n2r = (IZZ - IXX) * p - 2.0 * IXZ * r;
        const double n3p = (IXX - IYY) * q, n3q = (IXX - IYY) * p + IXZ * r, n3r = IXZ * q;
        constexpr double jxx = DT * JXX, jxz = DT * JXZ, jzz = DT * JZZ, jyy = DT * JYY;
        fx(9, 9) = 1.0 + jxx * n1p + jxz * n3p;
        fx(10, 9) = jyy * n2p;
        fx(11, 9) = jxz * n1p + jzz * n3p;
        fx(9, 10) = jxx * n1q + jxz * n3q;
        fx(11, 10) = jxz * n1q + jzz * n3q;
        fx(9, 11) = jxx * n1r + jxz * n3r;
        fx(10, 11) = jyy * n2r;
        fx(11, 11) = 1.0 + jxz * n1r + jzz * n3r;
        fu(3, 0) = b * ux;
        fu(4, 0) = b * uy;
        fu(5, 0) = b * ct_cph;
    }

    static double target(int j) { return j == 0 ? MASS * g : 0.0; }
    static double start(int i) { return i < 3 ? 1.0 : 0.0; }
};

// ---------------------------------------------------------------------------------------------------------------
// The same discrete problem for every system, as Crocoddyl's action models.
// ---------------------------------------------------------------------------------------------------------------

template <class System>
class Model : public ActionModelAbstract {
   public:
    EIGEN_MAKE_ALIGNED_OPERATOR_NEW
    CROCODDYL_BASE_DERIVED_CAST(crocoddyl::ActionModelBase, Model)

    using State = Eigen::Map<const Eigen::Matrix<double, System::nx, 1>>;
    using Control = Eigen::Map<const Eigen::Matrix<double, System::nu, 1>>;
    using ConstVector = Eigen::Ref<const VectorXd>;

    struct Data : ActionDataAbstract {
        EIGEN_MAKE_ALIGNED_OPERATOR_NEW
        explicit Data(ActionModelAbstract* model) : ActionDataAbstract(model) {}
        typename System::template Terms<double> terms{};
    };

    explicit Model(bool terminal)
        : ActionModelAbstract(std::make_shared<crocoddyl::StateVector>(System::nx), System::nu), terminal_(terminal) {
        for (int j = 0; j < System::nu; ++j) target_[j] = System::target(j);
    }

    std::shared_ptr<ActionDataAbstract> createData() override {
        auto data = std::make_shared<Data>(this);
        data->Lxx.diagonal().setConstant(terminal_ ? 2.0 : 2.0 * DT);
        data->Luu.diagonal().setConstant(2.0 * DT);
        System::constants(data->Fx, data->Fu);
        return data;
    }

    void calc(const std::shared_ptr<ActionDataAbstract>& base, const ConstVector& x, const ConstVector& u) override {
        auto& data = static_cast<Data&>(*base);
        double rate[System::nx];
        data.terms = System::template rates<double>(x.data(), u.data(), rate);
        double* next = data.xnext.data();
        for (int i = 0; i < System::nx; ++i) next[i] = x.data()[i] + DT * rate[i];
        data.cost = DT * (State(x.data()).squaredNorm() + (Control(u.data()) - target_).squaredNorm());
    }

    void calcDiff(const std::shared_ptr<ActionDataAbstract>& base, const ConstVector& x,
                  const ConstVector& u) override {
        auto& data = static_cast<Data&>(*base);
        for (int i = 0; i < System::nx; ++i) data.Lx.data()[i] = (2.0 * DT) * x.data()[i];
        for (int j = 0; j < System::nu; ++j) data.Lu.data()[j] = (2.0 * DT) * (u.data()[j] - target_[j]);
        System::jacobian(data.terms, x.data(), u.data(), data.Fx, data.Fu);
    }

    void calc(const std::shared_ptr<ActionDataAbstract>& data, const ConstVector& x) override {
        data->cost = State(x.data()).squaredNorm();
    }

    void calcDiff(const std::shared_ptr<ActionDataAbstract>& data, const ConstVector& x) override {
        for (int i = 0; i < System::nx; ++i) data->Lx.data()[i] = 2.0 * x.data()[i];
    }

   private:
    Eigen::Matrix<double, System::nu, 1> target_;
    bool terminal_;
};

// Counts what a solve does; never timed.
template <class Solver>
struct Counted : Solver {
    using Solver::Solver;
    int directions = 0, rollouts = 0;
    void computeDirection(const bool recalculate) override {
        ++directions;
        Solver::computeDirection(recalculate);
    }
    double tryStep(const double length) override {
        ++rollouts;
        return Solver::tryStep(length);
    }
};

double cpu_seconds(clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class System, class Solver>
void time_solver(const std::string& peer, int repeats) {
    auto running = std::make_shared<Model<System>>(false);
    auto terminal = std::make_shared<Model<System>>(true);
    VectorXd x0(System::nx), target(System::nu);
    for (int i = 0; i < System::nx; ++i) x0[i] = System::start(i);
    for (int j = 0; j < System::nu; ++j) target[j] = System::target(j);
    const std::vector<std::shared_ptr<ActionModelAbstract>> models(NODES, running);
    auto problem = std::make_shared<crocoddyl::ShootingProblem>(x0, models, terminal);
#ifdef CROCODDYL_WITH_MULTITHREADING
    // The wheel's default is two threads whatever OMP_NUM_THREADS says: up to 60 % more CPU time.
    problem->set_nthreads(1);
#endif
    const std::vector<VectorXd> us(NODES, target);
    const std::vector<VectorXd> xs = problem->rollout_us(us);

    Counted<Solver> counted(problem);
    counted.set_th_stop(STOP);
    counted.solve(xs, us, MAX_ITERATIONS, true);

    Solver solver(problem);
    solver.set_th_stop(STOP);
    bool converged = false;
    for (int i = 0; i < 10; ++i) converged = solver.solve(xs, us, MAX_ITERATIONS, true);

    std::vector<double> times(static_cast<std::size_t>(repeats));
    const double process_start = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double thread_start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (double& time : times) {
        const double start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
        solver.solve(xs, us, MAX_ITERATIONS, true);
        time = 1e6 * (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - start);
    }
    const double thread_time = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - thread_start;
    if (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - process_start > 1.1 * thread_time)
        std::fprintf(stderr, "%s, %s: other threads worked too, uncounted\n", peer.c_str(), System::name);

    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    std::printf(
        "{\"peer\": \"%s\", \"problem\": \"%s\", \"converged\": %s, \"iters\": %zu, \"directions\": %d, "
        "\"rollouts\": %d, \"cost\": %.12f, \"cpu_us_median\": %.3f, \"cpu_us_min\": %.3f, \"us_per_iter\": %.4f}\n",
        peer.c_str(), System::name, converged ? "true" : "false", solver.get_iter(), counted.directions,
        counted.rollouts, solver.get_cost(), median, times.front(), median / counted.directions);
    std::fflush(stdout);
}

template <class System>
void time_system(const std::string& suffix, int repeats) {
    time_solver<System, crocoddyl::SolverDDP>("crocoddyl-ddp" + suffix, repeats);
    time_solver<System, crocoddyl::SolverFDDP>("crocoddyl-fddp" + suffix, repeats);
}

// ---------------------------------------------------------------------------------------------------------------
// --check
// ---------------------------------------------------------------------------------------------------------------

bool report(const char* system, const char* what, double error, double tolerance) {
    const bool ok = error <= tolerance;  // false for NaN
    std::printf("%-13s %-44s %9.2e  %s\n", system, what, error, ok ? "ok" : "FAILED");
    return ok;
}

// f at a state and control, known from an independent implementation and rounded to 12 significant digits: the error
// is given in halves of the last digit's unit, so anything above 1 is not rounding.
template <class System>
bool check_vector(const std::vector<double>& x, const std::vector<double>& u, const std::vector<double>& expected) {
    double rate[System::nx], error = 0.0;
    System::template rates<double>(x.data(), u.data(), rate);
    for (int i = 0; i < System::nx; ++i) {
        const double unit = std::pow(10.0, std::floor(std::log10(std::abs(expected[i]))) - 11.0);
        error = std::max(error, std::abs(rate[i] - expected[i]) / (0.5 * unit));
    }
    return report(System::name, "f at the test vector, half units of digit 12", error, 1.001);
}

// Fx, Fu, Lx, Lu as the solver sees them, at random points, against complex steps (exact to rounding) and central
// differences (independent of the templates). The same data object serves all points, as in a solve.
template <class System>
bool check_derivatives() {
    constexpr int nx = System::nx, nu = System::nu;
    Model<System> model(false);
    auto data = model.createData();
    auto probe = model.createData();
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    double complex_error = 0.0, difference_error = 0.0, gradient_error = 0.0;
    for (int trial = 0; trial < 200; ++trial) {
        VectorXd z(nx + nu);
        for (int i = 0; i < nx + nu; ++i) z[i] = 1.3 * uniform(random);
        model.calc(data, z.head(nx), z.tail(nu));
        model.calcDiff(data, z.head(nx), z.tail(nu));
        for (int j = 0; j < nx + nu; ++j) {
            using Complex = std::complex<double>;
            std::vector<Complex> point(z.data(), z.data() + nx + nu), rate(nx);
            point[j] += Complex(0.0, 1e-30);
            System::template rates<Complex>(point.data(), point.data() + nx, rate.data());

            const double h = 6e-6;
            VectorXd up = z, down = z;
            up[j] += h;
            down[j] -= h;
            model.calc(probe, up.head(nx), up.tail(nu));
            const VectorXd next_up = probe->xnext;
            const double cost_up = probe->cost;
            model.calc(probe, down.head(nx), down.tail(nu));

            for (int i = 0; i < nx; ++i) {
                const double entry = j < nx ? data->Fx(i, j) : data->Fu(i, j - nx);
                const double exact = (i == j ? 1.0 : 0.0) + DT * rate[i].imag() / 1e-30;
                const double difference = (next_up[i] - probe->xnext[i]) / (2.0 * h);
                const double scale = std::max(1.0, std::abs(exact));
                complex_error = std::max(complex_error, std::abs(entry - exact) / scale);
                difference_error = std::max(difference_error, std::abs(entry - difference) / scale);
            }
            const double slope = j < nx ? data->Lx[j] : data->Lu[j - nx];
            gradient_error = std::max(gradient_error, std::abs(slope - (cost_up - probe->cost) / (2.0 * h)));
        }
    }
    bool ok = report(System::name, "Fx, Fu against complex steps", complex_error, 1e-14);
    ok &= report(System::name, "Fx, Fu against central differences", difference_error, 1e-8);
    ok &= report(System::name, "Lx, Lu against central differences", gradient_error, 1e-8);
    return ok;
}

bool check() {
    bool ok = check_vector<Pendulum>({0.3, -0.2}, {0.7}, {-0.2, 1.27981064547});
    ok &= check_vector<CartPole>({0.3, -0.2, 0.5, 0.4}, {0.7}, {-0.2, 1.44599579255, 0.4, 0.694931955913});
    ok &= check_vector<Quadrotor3d>(
        {0.3, -0.2, 0.5, 0.4, -0.1, 0.25, 0.15, -0.35, 0.6, 0.2, -0.3, 0.1}, {0.7, -0.4, 0.3, 0.2},
        {0.4, -0.1, 0.25, -0.792331294877, -1.203508891, 2.80209554948, 0.153584761824, -0.32456201696,
         0.164362445871, -0.307819324988, 0.269622844828, 0.534051469445});
    ok &= check_derivatives<Pendulum>();
    ok &= check_derivatives<CartPole>();
    ok &= check_derivatives<Quadrotor3d>();
    return ok;
}

}  // namespace

int main(int argc, char** argv) {
    int repeats = 301;
    std::string suffix;
    for (int i = 1; i < argc; ++i) {
        const bool has_value = i + 1 < argc;
        if (!std::strcmp(argv[i], "--check")) return check() ? 0 : 1;
        if (!std::strcmp(argv[i], "--repeats") && has_value) {
            repeats = std::max(1, std::atoi(argv[++i]));
        } else if (!std::strcmp(argv[i], "--suffix") && has_value) {
            suffix = std::string("-") + argv[++i];
        } else {
            std::fprintf(stderr, "usage: %s [--check] [--repeats n] [--suffix text]\n", argv[0]);
            return 2;
        }
    }
    time_system<Pendulum>(suffix, repeats);
    time_system<CartPole>(suffix, repeats);
    time_system<Quadrotor3d>(suffix, repeats);
    return 0;
}
