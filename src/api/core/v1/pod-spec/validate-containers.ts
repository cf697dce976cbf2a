/** Validates containers: regular, init and ephemeral ones. */
import { type AnyContainer, isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import { validateEnv, validateEnvFrom } from '#api/core/v1/pod-spec/validate-env.ts'
import { validateContainerPorts, validateHostPorts } from '#api/core/v1/pod-spec/validate-ports.ts'
import { validateLifecycle, validateProbe } from '#api/core/v1/pod-spec/validate-probes.ts'
import { validateContainerResources } from '#api/core/v1/pod-spec/validate-resources.ts'
import { validateInitRestartPolicy, validateRestartPolicy } from '#api/core/v1/pod-spec/validate-restart-policy.ts'
import { validateSecurityContext } from '#api/core/v1/pod-spec/validate-security-context.ts'
import { type VolumesByName, validateVolumeDevices, validateVolumeMounts } from '#api/core/v1/pod-spec/validate-volume-mounts.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Container, V1ContainerResizePolicy, V1EphemeralContainer, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { dns1123Label } from '#api/meta/names.ts'

/** What containers share with their pod. */
export type PodContext = {
  spec: V1PodSpec
  volumes: VolumesByName
  claimNames: ReadonlySet<string>
  hostUsers: boolean
  options: PodValidationOptions
}

/** `check` stands at the list. */
export function validateContainers(check: Check<readonly V1Container[]>, pod: PodContext): void {
  const containers = check.value
  if (containers.length === 0) {
    check.required()
    return
  }
  const names = new Set<string>()
  for (let index = 0; index < containers.length; index++) {
    const container = containers[index] as V1Container
    const at = check.at(index)
    validateContainer(at, pod)
    if (names.has(container.name)) at.at('name').duplicate()
    else names.add(container.name)
    validateHooks(at, pod)
    if (pod.options.allowContainerRestartRules) validateRestartPolicy(at, pod.options)
    else if (container.restartPolicy !== undefined) at.at('restartPolicy').forbidden('may not be set for non-init containers')
  }
  validateHostPorts(check)
}

function validateHooks(check: Check<V1Container>, { spec }: PodContext): void {
  const container = check.value
  if (container.lifecycle) validateLifecycle(check.at('lifecycle').present, spec)
  const graceSeconds = spec.terminationGracePeriodSeconds
  const { livenessProbe, readinessProbe, startupProbe } = container
  if (livenessProbe) validateProbe('livenessProbe', check.at('livenessProbe').present, graceSeconds)
  if (readinessProbe) validateProbe('readinessProbe', check.at('readinessProbe').present, graceSeconds)
  if (startupProbe) validateProbe('startupProbe', check.at('startupProbe').present, graceSeconds)
}

const hooks = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const

/** `check` stands at the list. */
export function validateInitContainers(check: Check<readonly V1Container[]>, pod: PodContext): void {
  const containers = check.value
  const names = new Set((pod.spec.containers ?? []).map(({ name }) => name))
  for (let index = 0; index < containers.length; index++) {
    const container = containers[index] as V1Container
    const at = check.at(index)
    validateContainer(at, pod)
    validateInitRestartPolicy(at, pod.options)
    if (names.has(container.name)) at.at('name').duplicate()
    else if (container.name) names.add(container.name)
    // Init containers run one after another, so each may have the same ports again. The index is upstream's.
    validateHostPorts(check.with([container]))
    if (isSidecar(container)) validateHooks(at, pod)
    else {
      for (const hook of hooks) {
        if (container[hook]) at.at(hook).forbidden('may not be set for init containers without restartPolicy=Always')
      }
      if (!pod.options.allowRestartingInitContainerResize) validateResizesInPlace(at)
    }
  }
}

function validateResizesInPlace(check: Check<V1Container>): void {
  const container = check.value
  for (const [index, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    if (restartPolicy !== 'RestartContainer') continue
    check.at('resizePolicy').at(index).at('restartPolicy').invalid("must not be set to 'RestartContainer' for non-sidecar initContainers")
  }
}

const notForEphemeral = 'cannot be set for an Ephemeral Container'
/** With the names upstream shows: those of its own struct, the first letter lowered. */
const nonEphemeralFields = [
  ...['ports', 'resources', 'resizePolicy', 'restartPolicy', 'restartPolicyRules'],
  ...['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'],
] as const

/** `check` stands at the list. */
export function validateEphemeralContainers(pod: PodContext, check: Check<V1EphemeralContainer[] | undefined>): void {
  const containers = pod.spec.ephemeralContainers
  if (!containers?.length) return
  const others = new Set([...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])].map(({ name }) => name))
  const names = new Set(others)
  for (const [index, container] of containers.entries()) {
    const at = check.at(index)
    validateContainer(at.with(container), pod)
    validateImageOfPod(at.with(container))
    if (names.has(container.name)) at.at('name').duplicate(container.name)
    else names.add(container.name)
    const target = container.targetContainerName
    if (target && !others.has(target)) at.at('targetContainerName').notFound(target)
    for (const field of nonEphemeralFields) {
      const value: unknown = container[field]
      if (value !== undefined && !isEmptyResources(field, value)) at.at(field).forbidden(notForEphemeral)
    }
    for (const [place, mount] of (container.volumeMounts ?? []).entries()) {
      if (mount.subPath) at.at('volumeMounts').at(place).at('subPath').forbidden(notForEphemeral)
      if (mount.subPathExpr) at.at('volumeMounts').at(place).at('subPathExpr').forbidden(notForEphemeral)
    }
  }
}

/** `resources: {}` is no different from none. */
const isEmptyResources = (field: string, value: unknown): boolean =>
  field === 'resources' && typeof value === 'object' && value !== null && Object.values(value).every((each) => each === undefined)

function validateContainer(check: Check<AnyContainer>, pod: PodContext): void {
  const container = check.value
  if (!container.name) check.at('name').required()
  else for (const message of dns1123Label(container.name)) check.at('name').invalid(message)
  if (!container.image) check.at('image').required()
  validateTerminationMessagePolicy(container.terminationMessagePolicy, check)
  if (container.ports?.length) validateContainerPorts(check.at('ports').present)
  if (container.env?.length) validateEnv(check.at('env').present, pod.options)
  if (container.envFrom?.length) validateEnvFrom(check.at('envFrom').present)
  if (container.volumeMounts?.length) validateVolumeMounts(container, pod.volumes, check.at('volumeMounts'))
  if (container.volumeDevices?.length) validateVolumeDevices(container, pod.volumes, check.at('volumeDevices'))
  validatePullPolicy(check.at('imagePullPolicy'))
  if (container.resources) validateContainerResources(check.at('resources').present, pod.claimNames, pod.options)
  if (container.resizePolicy?.length) validateResizePolicy(check.at('resizePolicy').present, pod.spec.restartPolicy)
  if (container.securityContext) validateSecurityContext(check.at('securityContext').present, pod.hostUsers)
}

function validateTerminationMessagePolicy(policy: string | undefined, check: Check<AnyContainer>): void {
  if (policy === 'File' || policy === 'FallbackToLogsOnError') return
  if (!policy) check.at('terminationMessagePolicy').required()
  else check.at('terminationMessagePolicy').notSupported(['File', 'FallbackToLogsOnError'], policy)
}

export function validatePullPolicy(check: Check<string | undefined>): void {
  const policy = check.value
  if (policy === 'IfNotPresent' || policy === 'Always' || policy === 'Never') return
  if (!policy) check.required()
  else check.notSupported(['Always', 'IfNotPresent', 'Never'])
}

/** `check` stands at the list, which is also where upstream reports what is wrong with an item. */
function validateResizePolicy(check: Check<readonly V1ContainerResizePolicy[]>, podRestartPolicy: string | undefined): void {
  const resources = new Set<string>()
  for (const at of check.items()) {
    const { resourceName = '', restartPolicy = '' } = at.value
    if (resources.has(resourceName)) at.duplicate(resourceName)
    resources.add(resourceName)
    if (resourceName === '') check.required()
    else if (resourceName !== 'cpu' && resourceName !== 'memory') check.notSupported(['cpu', 'memory'], resourceName)
    if (restartPolicy === '') check.required()
    else if (restartPolicy !== 'NotRequired' && restartPolicy !== 'RestartContainer') {
      check.notSupported(['NotRequired', 'RestartContainer'], restartPolicy)
    }
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      check.invalid("must be 'NotRequired' when pod `restartPolicy` is 'Never'", restartPolicy)
    }
  }
}

/** What a template may leave open and a pod may not. `check` stands at the container. */
export function validateImageOfPod(check: Check<AnyContainer>): void {
  const { image = '' } = check.value
  if (image !== '' && image.trim().length !== image.length) check.at('image').or('').invalid('must not have leading or trailing whitespace')
}
