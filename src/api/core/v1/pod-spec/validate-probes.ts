/** Validates probes and lifecycle hooks of containers. */
import { validatePortNumberOrName } from '#api/core/v1/pod-spec/validate-ports.ts'
import type { V1HTTPGetAction, V1Lifecycle, V1LifecycleHandler, V1PodSpec, V1Probe } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { httpHeaderName, nonNegative } from '#api/meta/formats.ts'

export type ProbeName = 'livenessProbe' | 'readinessProbe' | 'startupProbe'

/** `check` stands at the probe. */
export function validateProbe(name: ProbeName, check: Check<V1Probe>, graceSeconds: number | undefined): void {
  const probe = check.value
  validateHandler(check, graceSeconds)
  nonNegative(check.at('initialDelaySeconds'))
  nonNegative(check.at('timeoutSeconds'))
  nonNegative(check.at('periodSeconds'))
  nonNegative(check.at('successThreshold'))
  nonNegative(check.at('failureThreshold'))
  const probeGrace = probe.terminationGracePeriodSeconds
  if (probeGrace !== undefined && probeGrace <= 0) {
    check.at('terminationGracePeriodSeconds').invalid('must be greater than 0')
  }
  if (name === 'readinessProbe') {
    if (probeGrace !== undefined) check.at('terminationGracePeriodSeconds').invalid('must not be set for readinessProbes')
  } else if ((probe.successThreshold ?? 0) !== 1) {
    check.at('successThreshold').or(0).invalid('must be 1')
  }
}

/** `check` stands at the lifecycle. */
export function validateLifecycle(check: Check<V1Lifecycle>, spec: V1PodSpec): void {
  const lifecycle = check.value
  if (lifecycle.postStart) validateHandler(check.at('postStart').present, spec.terminationGracePeriodSeconds)
  if (lifecycle.preStop) validateHandler(check.at('preStop').present, spec.terminationGracePeriodSeconds)
  if (lifecycle.stopSignal !== undefined) validateStopSignal(check.at('stopSignal').present, spec)
}

const onlyOneHandler = 'may not specify more than 1 handler type'

/** One of the kinds of action, and only one; after the first the others are not looked into. */
function validateHandler(check: Check<V1Probe & V1LifecycleHandler>, graceSeconds: number | undefined): void {
  const handler = check.value
  let handlers = 0
  const isFirst = (name: keyof V1Probe | keyof V1LifecycleHandler): boolean => {
    if (handlers++ === 0) return true
    check.at(name).forbidden(onlyOneHandler)
    return false
  }
  if (handler.exec && isFirst('exec') && !handler.exec.command?.length) check.at('exec').at('command').required()
  if (handler.httpGet && isFirst('httpGet')) validateHttpGet(check.at('httpGet').present)
  if (handler.tcpSocket && isFirst('tcpSocket')) validatePortNumberOrName(check.at('tcpSocket').at('port'))
  if (handler.grpc && isFirst('grpc')) validatePortNumberOrName(check.at('grpc').at('port'))
  if (handler.sleep && isFirst('sleep')) validateSleep(handler.sleep.seconds ?? 0, graceSeconds, check.at('sleep'))
  if (handlers === 0) check.required('must specify a handler type')
}

function validateHttpGet(check: Check<V1HTTPGetAction>): void {
  const get = check.value
  if (!get.path) check.at('path').required()
  validatePortNumberOrName(check.at('port'))
  if (get.scheme !== 'HTTP' && get.scheme !== 'HTTPS') check.at('scheme').or('').notSupported(['HTTP', 'HTTPS'])
  for (const header of get.httpHeaders ?? []) {
    for (const message of httpHeaderName(header.name ?? '')) check.at('httpHeaders').invalid(message, header.name ?? '')
  }
}

function validateSleep(seconds: number, graceSeconds: number | undefined, check: Check<unknown>): void {
  if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return
  check.invalid(`must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`, seconds)
}

const plainSignals = [
  ...['SIGABRT', 'SIGALRM', 'SIGBUS', 'SIGCHLD', 'SIGCLD', 'SIGCONT', 'SIGFPE', 'SIGHUP', 'SIGILL', 'SIGINT', 'SIGIO', 'SIGIOT'],
  ...['SIGKILL', 'SIGPIPE', 'SIGPOLL', 'SIGPROF', 'SIGPWR', 'SIGQUIT', 'SIGSEGV', 'SIGSTKFLT', 'SIGSTOP', 'SIGSYS', 'SIGTERM'],
  ...['SIGTRAP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU', 'SIGURG', 'SIGUSR1', 'SIGUSR2', 'SIGVTALRM', 'SIGWINCH', 'SIGXCPU', 'SIGXFSZ'],
]
const realTimeSignals = [
  ...['SIGRTMIN', 'SIGRTMAX'],
  ...Array.from({ length: 15 }, (_, index) => `SIGRTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `SIGRTMAX-${index + 1}`),
]
const linuxSignals = [...plainSignals, ...realTimeSignals].sort()
const windowsSignals = ['SIGKILL', 'SIGTERM']

function validateStopSignal(check: Check<string>, { os }: V1PodSpec): void {
  const signal = check.value
  if (os === undefined) {
    check.forbidden('may not be set for containers with empty `spec.os.name`')
    return
  }
  const allowed = os.name === 'windows' ? windowsSignals : os.name === 'linux' ? linuxSignals : undefined
  if (allowed && !allowed.includes(signal)) check.notSupported(allowed)
}
