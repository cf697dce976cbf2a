/** Judges a pod's spec, on its own or inside a template. */
import { forbiddenNowhere } from '#api/core/v1/odd-errors.ts'
import { checkAtContainer, eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { validateAffinity } from '#api/core/v1/pod-spec/validate-affinity.ts'
import { mirrorPodAnnotation } from '#api/core/v1/pod-spec/validate-annotations.ts'
import {
  type PodSurroundings,
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
export function validatePodSpec(spec: V1PodSpec, podMeta: V1ObjectMeta | undefined, check: Check, options: PodValidationOptions): void {
  if (spec.terminationGracePeriodSeconds === undefined) check.at('terminationGracePeriodSeconds').required()
  const claims = spec.resourceClaims
  const pod: PodSurroundings = {
    spec,
    options,
    hostUsers: spec.hostUsers !== false,
    volumes: spec.volumes?.length ? validateVolumes(spec.volumes, podMeta, check.at('volumes'), options) : noVolumes,
    claimNames: claims?.length ? new Set(claims.map(({ name }) => name).filter(Boolean)) : noClaims,
  }
  if (claims?.length) validateResourceClaims(claims, podMeta, check.at('resourceClaims'))
  validateContainers(spec.containers ?? [], pod, check.at('containers'))
  if (spec.initContainers?.length) validateInitContainers(spec.initContainers, pod, check.at('initContainers'))
  if (spec.ephemeralContainers?.length) validateEphemeralContainers(pod, check.at('ephemeralContainers'))
  if (spec.resources && options.podLevelResources) validatePodResources(spec, check, options)
  if (spec.hostNetwork) validateHostNetworkPorts(spec, check, options)
  validateRestartPolicy(spec.restartPolicy, check)
  validateDnsPolicy(spec, check)
  if (spec.nodeSelector) validateLabels(spec.nodeSelector, check.at('nodeSelector'))
  validatePodSecurityContext(spec.securityContext ?? {}, spec, check.at('securityContext'), options)
  if (spec.affinity) validateAffinity(spec.affinity, check.at('affinity'), options)
  validateDnsConfig(spec, check)
  for (const [index, { conditionType = '' }] of (spec.readinessGates ?? []).entries()) {
    mustBe(qualifiedName, conditionType, check.at('readinessGates').at(index).at('conditionType'))
  }
  if (spec.schedulingGates?.length) validateSchedulingGates(spec.schedulingGates, check.at('schedulingGates'))
  if (spec.topologySpreadConstraints?.length) {
    validateTopologySpread(spec.topologySpreadConstraints, check.at('topologySpreadConstraints'), options)
  }
  validateHostProcess(spec, check)
  if (!pod.hostUsers) validateUserNamespace(spec, check, options)
  validateHostnameOverride(spec, check)
  validateNames(spec, check)
  validatePlacement(spec, check, options)
  validateFileKeyRefs(spec, check)
}

function validateNames(spec: V1PodSpec, check: Check): void {
  if (spec.serviceAccountName) mustBe(dns1123Subdomain, spec.serviceAccountName, check.at('serviceAccountName'))
  if (spec.nodeName) mustBe(dns1123Subdomain, spec.nodeName, check.at('nodeName'))
  const deadline = spec.activeDeadlineSeconds
  if (deadline !== undefined) {
    for (const message of inRange(deadline, 1, 2147483647)) check.at('activeDeadlineSeconds').invalid(deadline, message)
  }
  if (spec.hostname) mustBe(dns1123Label, spec.hostname, check.at('hostname'))
  if (spec.subdomain) mustBe(dns1123Label, spec.subdomain, check.at('subdomain'))
}

function validatePlacement(spec: V1PodSpec, check: Check, options: PodValidationOptions): void {
  if (spec.tolerations?.length) validateTolerations(spec.tolerations, check.at('tolerations'), options)
  if (spec.hostAliases?.length) validateHostAliases(spec.hostAliases, check.at('hostAliases'))
  if (spec.priorityClassName) mustBe(dns1123Subdomain, spec.priorityClassName, check.at('priorityClassName'))
  if (spec.runtimeClassName !== undefined) mustBe(dns1123Subdomain, spec.runtimeClassName, check.at('runtimeClassName'))
  if (spec.preemptionPolicy !== undefined) validatePreemptionPolicy(spec.preemptionPolicy, check.at('preemptionPolicy'))
  if (spec.overhead) validateOverhead(spec.overhead, check.at('overhead'), options)
  if (spec.os) validateOs(spec, check)
  if (spec.schedulingGroup) {
    const name = spec.schedulingGroup.podGroupName
    const at = check.at('schedulingGroup.podGroupName')
    if (name === undefined) at.invalid(null, 'must specify one of: `podGroupName`')
    else mustBe(dns1123Subdomain, name, at)
  }
}

const restartPolicies = ['Always', 'OnFailure', 'Never']

function validateRestartPolicy(policy: string | undefined, check: Check): void {
  if (!policy) check.at('restartPolicy').required()
  else if (!restartPolicies.includes(policy)) check.at('restartPolicy').notSupported(policy, restartPolicies)
}

/** Also of priority classes. `check` stands at the policy. */
function validatePreemptionPolicy(policy: string, check: Check): void {
  if (policy === '') check.required()
  else if (policy !== 'PreemptLowerPriority' && policy !== 'Never') check.notSupported(policy, ['PreemptLowerPriority', 'Never'])
}

/** A container in the host's network listens on the very port it names. */
function validateHostNetworkPorts(spec: V1PodSpec, check: Check, options: PodValidationOptions): void {
  for (const [index, { ports = [] }] of (spec.containers ?? []).entries()) {
    for (const [place, { hostPort = 0, containerPort = 0 }] of ports.entries()) {
      // In a template the host port is not filled in yet.
      if (hostPort === containerPort || (hostPort === 0 && !options.resourceIsPod)) continue
      const at = check.at('containers').at(index).at('ports').at(place).at('hostPort')
      at.invalid(hostPort, 'must match `containerPort` when `hostNetwork` is true')
    }
  }
}

function validateSchedulingGates(gates: readonly V1PodSchedulingGate[], check: Check): void {
  const names = new Set<string>()
  for (const [index, { name = '' }] of gates.entries()) {
    mustBe(qualifiedName, name, check.at(index))
    if (names.has(name)) check.at(index).duplicate(name)
    names.add(name)
  }
}

function validateResourceClaims(claims: readonly V1PodResourceClaim[], podMeta: V1ObjectMeta | undefined, check: Check): void {
  const names = new Set<string>()
  for (const [index, claim] of claims.entries()) {
    if (podMeta?.annotations?.[mirrorPodAnnotation] !== undefined) {
      forbiddenNowhere('static pods do not support resource claims', check)
      continue
    }
    const { name = '', resourceClaimName, resourceClaimTemplateName } = claim
    const at = check.at(index)
    if (name === '') at.at('name').required()
    else if (names.has(name)) at.at('name').duplicate(name)
    else {
      mustBe(dns1123Label, name, at.at('name'))
      names.add(name)
    }
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const message = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'
      at.invalid(asInternal('core.PodResourceClaim', claim), message)
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      const message = 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'
      at.invalid(asInternal('core.PodResourceClaim', claim), message)
    }
    if (resourceClaimName !== undefined) mustBe(dns1123Subdomain, resourceClaimName, at.at('resourceClaimName'))
    if (resourceClaimTemplateName !== undefined) {
      mustBe(dns1123Subdomain, resourceClaimTemplateName, at.at('resourceClaimTemplateName'))
    }
  }
}

/** Where users of the pod are not those of the host, nothing else of the host may be shared. */
function validateUserNamespace(spec: V1PodSpec, check: Check, options: PodValidationOptions): void {
  const message = 'when `hostUsers` is false'
  if (spec.hostNetwork && !options.allowUserNamespacesWithHostNetwork) check.at('hostNetwork').forbidden(message)
  if (spec.hostPID) check.at('HostPID').forbidden(message)
  if (spec.hostIPC) check.at('HostIPC').forbidden(message)
  if (options.allowUserNamespacesWithVolumeDevices) return
  eachContainer(spec, ({ volumeDevices }, list, index) => {
    if (volumeDevices?.length) checkAtContainer(check, list, index).at('volumeDevices').forbidden(message)
  })
}

/** Variables come from files of emptyDir volumes only. */
function validateFileKeyRefs(spec: V1PodSpec, check: Check): void {
  eachContainer(spec, ({ env }, list, index) => {
    if (env === undefined) return
    for (let place = 0; place < env.length; place++) {
      const ref = env[place]?.valueFrom?.fileKeyRef
      if (ref === undefined) continue
      const name = ref.volumeName ?? ''
      const at = checkAtContainer(check, list, index).at('env').at(place).at('valueFrom.fileKeyRef.volumeName')
      const volume = spec.volumes?.findLast((each) => each.name === name)
      if (volume === undefined) at.notFound(name)
      else if (volume.emptyDir === undefined) at.invalid(name, 'referenced volume must be of type emptyDir')
    }
  })
}
