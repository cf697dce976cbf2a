/** Validates a pod's spec, on its own or inside a template. */
import { forbiddenNowhere } from '#api/core/v1/odd-errors.ts'
import { checkAtContainer, eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { validateAffinity } from '#api/core/v1/pod-spec/validate-affinity.ts'
import { mirrorPodAnnotation } from '#api/core/v1/pod-spec/validate-annotations.ts'
import {
  type PodContext,
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from '#api/core/v1/pod-spec/validate-containers.ts'
import { validateDnsConfig, validateDnsPolicy, validateHostAliases, validateHostnameOverride } from '#api/core/v1/pod-spec/validate-dns.ts'
import { validateOverhead, validatePodResources } from '#api/core/v1/pod-spec/validate-resources.ts'
import { validatePodSecurityContext } from '#api/core/v1/pod-spec/validate-security-context.ts'
import { validateTolerations } from '#api/core/v1/pod-spec/validate-tolerations.ts'
import { validateTopologySpread } from '#api/core/v1/pod-spec/validate-topology-spread.ts'
import { validateVolumes } from '#api/core/v1/pod-spec/validate-volumes.ts'
import { validateHostProcess, validateOs } from '#api/core/v1/pod-spec/validate-windows-options.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1PodResourceClaim, V1PodSchedulingGate, V1PodSpec, V1Volume } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { inRange } from '#api/meta/formats.ts'
import { validateLabels } from '#api/meta/labels.ts'
import { dns1123Label, dns1123Subdomain, mustBe, qualifiedName } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

const noVolumes: ReadonlyMap<string, V1Volume> = new Map()
const noClaims: ReadonlySet<string> = new Set()

/** `check` stands at the spec; `podMeta` is absent for templates. */
export function validatePodSpec(check: Check<V1PodSpec>, podMeta: V1ObjectMeta | undefined, options: PodValidationOptions): void {
  const spec = check.value
  if (spec.terminationGracePeriodSeconds === undefined) check.at('terminationGracePeriodSeconds').required()
  const claims = spec.resourceClaims
  const pod: PodContext = {
    spec,
    options,
    hostUsers: spec.hostUsers !== false,
    volumes: spec.volumes?.length ? validateVolumes(check.at('volumes').present, podMeta, options) : noVolumes,
    claimNames: claims?.length ? new Set(claims.map(({ name }) => name).filter(Boolean)) : noClaims,
  }
  if (claims?.length) validateResourceClaims(check.at('resourceClaims').present, podMeta)
  validateContainers(check.at('containers').or([]), pod)
  if (spec.initContainers?.length) validateInitContainers(check.at('initContainers').present, pod)
  if (spec.ephemeralContainers?.length) validateEphemeralContainers(pod, check.at('ephemeralContainers'))
  if (spec.resources && options.podLevelResources) validatePodResources(check, options)
  if (spec.hostNetwork) validateHostNetworkPorts(check, options)
  validateRestartPolicy(spec.restartPolicy, check)
  validateDnsPolicy(check)
  if (spec.nodeSelector) validateLabels(check.at('nodeSelector'))
  validatePodSecurityContext(check.at('securityContext').or({}), spec, options)
  if (spec.affinity) validateAffinity(check.at('affinity').present, options)
  validateDnsConfig(check)
  for (const at of check.at('readinessGates').items()) {
    mustBe(qualifiedName, at.at('conditionType').or(''))
  }
  if (spec.schedulingGates?.length) validateSchedulingGates(check.at('schedulingGates').present)
  if (spec.topologySpreadConstraints?.length) {
    validateTopologySpread(check.at('topologySpreadConstraints').present, options)
  }
  validateHostProcess(check)
  if (!pod.hostUsers) validateUserNamespace(check, options)
  validateHostnameOverride(check)
  validateNames(check)
  validatePlacement(check, options)
  validateFileKeyRefs(check)
}

function validateNames(check: Check<V1PodSpec>): void {
  const spec = check.value
  if (spec.serviceAccountName) mustBe(dns1123Subdomain, check.at('serviceAccountName').present)
  if (spec.nodeName) mustBe(dns1123Subdomain, check.at('nodeName').present)
  const deadline = spec.activeDeadlineSeconds
  if (deadline !== undefined) {
    for (const message of inRange(deadline, 1, 2147483647)) check.at('activeDeadlineSeconds').invalid(message)
  }
  if (spec.hostname) mustBe(dns1123Label, check.at('hostname').present)
  if (spec.subdomain) mustBe(dns1123Label, check.at('subdomain').present)
}

function validatePlacement(check: Check<V1PodSpec>, options: PodValidationOptions): void {
  const spec = check.value
  if (spec.tolerations?.length) validateTolerations(check.at('tolerations').present, options)
  if (spec.hostAliases?.length) validateHostAliases(check.at('hostAliases').present)
  if (spec.priorityClassName) mustBe(dns1123Subdomain, check.at('priorityClassName').present)
  if (spec.runtimeClassName !== undefined) mustBe(dns1123Subdomain, check.at('runtimeClassName').present)
  if (spec.preemptionPolicy !== undefined) validatePreemptionPolicy(check.at('preemptionPolicy').present)
  if (spec.overhead) validateOverhead(check.at('overhead').present, options)
  if (spec.os) validateOs(check)
  if (spec.schedulingGroup) {
    const name = spec.schedulingGroup.podGroupName
    const at = check.at('schedulingGroup').at('podGroupName')
    if (name === undefined) at.invalid('must specify one of: `podGroupName`', null)
    else mustBe(dns1123Subdomain, at.present)
  }
}

const restartPolicies = ['Always', 'OnFailure', 'Never']

function validateRestartPolicy(policy: string | undefined, check: Check<V1PodSpec>): void {
  if (!policy) check.at('restartPolicy').required()
  else if (!restartPolicies.includes(policy)) check.at('restartPolicy').notSupported(restartPolicies, policy)
}

/** Also of priority classes. `check` stands at the policy. */
function validatePreemptionPolicy(check: Check<string>): void {
  const policy = check.value
  if (policy === '') check.required()
  else if (policy !== 'PreemptLowerPriority' && policy !== 'Never') check.notSupported(['PreemptLowerPriority', 'Never'])
}

/** A container in the host's network listens on the very port it names. */
function validateHostNetworkPorts(check: Check<V1PodSpec>, options: PodValidationOptions): void {
  for (const place of check.at('containers').items()) {
    for (const here of place.at('ports').items()) {
      const { hostPort = 0, containerPort = 0 } = here.value
      // In a template the host port is not filled in yet.
      if (hostPort === containerPort || (hostPort === 0 && !options.resourceIsPod)) continue
      const at = here.at('hostPort')
      at.or(0).invalid('must match `containerPort` when `hostNetwork` is true')
    }
  }
}

function validateSchedulingGates(check: Check<readonly V1PodSchedulingGate[]>): void {
  const names = new Set<string>()
  for (const at of check.items()) {
    const { name = '' } = at.value
    mustBe(qualifiedName, at.with(name))
    if (names.has(name)) at.duplicate(name)
    names.add(name)
  }
}

function validateResourceClaims(check: Check<readonly V1PodResourceClaim[]>, podMeta: V1ObjectMeta | undefined): void {
  const names = new Set<string>()
  for (const at of check.items()) {
    const claim = at.value
    if (podMeta?.annotations?.[mirrorPodAnnotation] !== undefined) {
      forbiddenNowhere('static pods do not support resource claims', check)
      continue
    }
    const { name = '', resourceClaimName, resourceClaimTemplateName } = claim
    if (name === '') at.at('name').required()
    else if (names.has(name)) at.at('name').or('').duplicate()
    else {
      mustBe(dns1123Label, at.at('name').or(''))
      names.add(name)
    }
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const message = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'
      at.invalid(message, asInternal('core.PodResourceClaim', claim))
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      const message = 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'
      at.invalid(message, asInternal('core.PodResourceClaim', claim))
    }
    if (resourceClaimName !== undefined) mustBe(dns1123Subdomain, at.at('resourceClaimName').present)
    if (resourceClaimTemplateName !== undefined) {
      mustBe(dns1123Subdomain, at.at('resourceClaimTemplateName').present)
    }
  }
}

/** Where users of the pod are not those of the host, nothing else of the host may be shared. */
function validateUserNamespace(check: Check<V1PodSpec>, options: PodValidationOptions): void {
  const spec = check.value
  const message = 'when `hostUsers` is false'
  if (spec.hostNetwork && !options.allowUserNamespacesWithHostNetwork) check.at('hostNetwork').forbidden(message)
  if (spec.hostPID) check.dynamic('HostPID').forbidden(message)
  if (spec.hostIPC) check.dynamic('HostIPC').forbidden(message)
  if (options.allowUserNamespacesWithVolumeDevices) return
  eachContainer(spec, ({ volumeDevices }, list, index) => {
    if (volumeDevices?.length) checkAtContainer(check, list, index).at('volumeDevices').forbidden(message)
  })
}

/** Variables come from files of emptyDir volumes only. */
function validateFileKeyRefs(check: Check<V1PodSpec>): void {
  const spec = check.value
  eachContainer(spec, ({ env }, list, index) => {
    if (env === undefined) return
    for (let place = 0; place < env.length; place++) {
      const ref = env[place]?.valueFrom?.fileKeyRef
      if (ref === undefined) continue
      const name = ref.volumeName ?? ''
      const at = checkAtContainer(check, list, index).at('env').at(place).at('valueFrom').at('fileKeyRef').at('volumeName')
      const volume = spec.volumes?.findLast((each) => each.name === name)
      if (volume === undefined) at.notFound(name)
      else if (volume.emptyDir === undefined) at.invalid('referenced volume must be of type emptyDir', name)
    }
  })
}
