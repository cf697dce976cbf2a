/** Judges containers: regular, init and ephemeral ones. */
import { type AnyContainer, isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import { validateEnv, validateEnvFrom } from '#api/core/v1/pod-spec/validate-env.ts'
import { validateContainerPorts, validateHostPorts } from '#api/core/v1/pod-spec/validate-ports.ts'
import { validateLifecycle, validateProbe } from '#api/core/v1/pod-spec/validate-probes.ts'
import { validateContainerResources } from '#api/core/v1/pod-spec/validate-resources.ts'
import { validateInitRestartPolicy, validateRestartPolicy } from '#api/core/v1/pod-spec/validate-restart-policy.ts'
import { validateSecurityContext } from '#api/core/v1/pod-spec/validate-security-context.ts'
import { type VolumesByName, validateVolumeDevices, validateVolumeMounts } from '#api/core/v1/pod-spec/validate-volume-mounts.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Container, V1ContainerResizePolicy, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { dns1123Label } from '#api/meta/names.ts'

/** What containers share with their pod. */
export type PodSurroundings = {
  spec: V1PodSpec
  volumes: VolumesByName
  claimNames: ReadonlySet<string>
  hostUsers: boolean
  options: PodValidationOptions
}

/** `check` stands at the list. */
export function validateContainers(containers: readonly V1Container[], pod: PodSurroundings, check: Check): void {
  if (containers.length === 0) {
    check.required()
    return
  }
  const names = new Set<string>()
  for (let index = 0; index < containers.length; index++) {
    const container = containers[index] as V1Container
    const at = check.at(index)
    validateContainer(container, pod, at)
    if (names.has(container.name)) at.at('name').duplicate(container.name)
    else names.add(container.name)
    validateHooks(container, pod, at)
    if (pod.options.allowContainerRestartRules) validateRestartPolicy(container, at, pod.options)
    else if (container.restartPolicy !== undefined) at.at('restartPolicy').forbidden('may not be set for non-init containers')
  }
  validateHostPorts(containers, check)
}

function validateHooks(container: V1Container, { spec }: PodSurroundings, check: Check): void {
  if (container.lifecycle) validateLifecycle(container.lifecycle, spec, check.at('lifecycle'))
  const graceSeconds = spec.terminationGracePeriodSeconds
  const { livenessProbe, readinessProbe, startupProbe } = container
  if (livenessProbe) validateProbe('livenessProbe', livenessProbe, graceSeconds, check.at('livenessProbe'))
  if (readinessProbe) validateProbe('readinessProbe', readinessProbe, graceSeconds, check.at('readinessProbe'))
  if (startupProbe) validateProbe('startupProbe', startupProbe, graceSeconds, check.at('startupProbe'))
}

const hooks = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const

/** `check` stands at the list. */
export function validateInitContainers(containers: readonly V1Container[], pod: PodSurroundings, check: Check): void {
  const names = new Set((pod.spec.containers ?? []).map(({ name }) => name))
  for (let index = 0; index < containers.length; index++) {
    const container = containers[index] as V1Container
    const at = check.at(index)
    validateContainer(container, pod, at)
    validateInitRestartPolicy(container, at, pod.options)
    if (names.has(container.name)) at.at('name').duplicate(container.name)
    else if (container.name) names.add(container.name)
    // Init containers run one after another, so each may have the same ports again. The index is upstream's.
    validateHostPorts([container], check)
    if (isSidecar(container)) validateHooks(container, pod, at)
    else {
      for (const hook of hooks) {
        if (container[hook]) at.at(hook).forbidden('may not be set for init containers without restartPolicy=Always')
      }
      if (!pod.options.allowRestartingInitContainerResize) validateResizesInPlace(container, at)
    }
  }
}

function validateResizesInPlace(container: V1Container, check: Check): void {
  for (const [index, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    if (restartPolicy !== 'RestartContainer') continue
    check
      .at('resizePolicy')
      .at(index)
      .at('restartPolicy')
      .invalid(restartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers")
  }
}

const notForEphemeral = 'cannot be set for an Ephemeral Container'
/** With the names upstream shows: those of its own struct, the first letter lowered. */
const nonEphemeralFields = [
  ...['ports', 'resources', 'resizePolicy', 'restartPolicy', 'restartPolicyRules'],
  ...['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'],
] as const

/** `check` stands at the list. */
export function validateEphemeralContainers(pod: PodSurroundings, check: Check): void {
  const containers = pod.spec.ephemeralContainers
  if (!containers?.length) return
  const others = new Set([...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])].map(({ name }) => name))
  const names = new Set(others)
  for (const [index, container] of containers.entries()) {
    const at = check.at(index)
    validateContainer(container, pod, at)
    validateImageOfPod(container, at)
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

function validateContainer(container: AnyContainer, pod: PodSurroundings, check: Check): void {
  if (!container.name) check.at('name').required()
  else for (const message of dns1123Label(container.name)) check.at('name').invalid(container.name, message)
  if (!container.image) check.at('image').required()
  validateTerminationMessagePolicy(container.terminationMessagePolicy, check)
  if (container.ports?.length) validateContainerPorts(container.ports, check.at('ports'))
  if (container.env?.length) validateEnv(container.env, check.at('env'), pod.options)
  if (container.envFrom?.length) validateEnvFrom(container.envFrom, check.at('envFrom'))
  if (container.volumeMounts?.length) validateVolumeMounts(container, pod.volumes, check.at('volumeMounts'))
  if (container.volumeDevices?.length) validateVolumeDevices(container, pod.volumes, check.at('volumeDevices'))
  validatePullPolicy(container.imagePullPolicy, check, 'imagePullPolicy')
  if (container.resources) validateContainerResources(container.resources, pod.claimNames, check.at('resources'), pod.options)
  if (container.resizePolicy?.length) validateResizePolicy(container.resizePolicy, pod.spec.restartPolicy, check.at('resizePolicy'))
  if (container.securityContext) validateSecurityContext(container.securityContext, pod.hostUsers, check.at('securityContext'))
}

function validateTerminationMessagePolicy(policy: string | undefined, check: Check): void {
  if (policy === 'File' || policy === 'FallbackToLogsOnError') return
  if (!policy) check.at('terminationMessagePolicy').required()
  else check.at('terminationMessagePolicy').notSupported(policy, ['File', 'FallbackToLogsOnError'])
}

/** `check` stands at the owner of the field. */
export function validatePullPolicy(policy: string | undefined, check: Check, field: string): void {
  if (policy === 'IfNotPresent' || policy === 'Always' || policy === 'Never') return
  if (!policy) check.at(field).required()
  else check.at(field).notSupported(policy, ['Always', 'IfNotPresent', 'Never'])
}

/** `check` stands at the list, which is also where upstream reports what is wrong with an item. */
function validateResizePolicy(policies: readonly V1ContainerResizePolicy[], podRestartPolicy: string | undefined, check: Check): void {
  const resources = new Set<string>()
  for (const [index, { resourceName = '', restartPolicy = '' }] of policies.entries()) {
    if (resources.has(resourceName)) check.at(index).duplicate(resourceName)
    resources.add(resourceName)
    if (resourceName === '') check.required()
    else if (resourceName !== 'cpu' && resourceName !== 'memory') check.notSupported(resourceName, ['cpu', 'memory'])
    if (restartPolicy === '') check.required()
    else if (restartPolicy !== 'NotRequired' && restartPolicy !== 'RestartContainer') {
      check.notSupported(restartPolicy, ['NotRequired', 'RestartContainer'])
    }
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      check.invalid(restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
    }
  }
}

/** What a template may leave open and a pod may not. `check` stands at the container. */
export function validateImageOfPod({ image = '' }: AnyContainer, check: Check): void {
  if (image !== '' && image.trim().length !== image.length) check.at('image').invalid(image, 'must not have leading or trailing whitespace')
}
