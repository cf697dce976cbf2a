/** What the rules of pods let through because a gate is on, or because the stored object already has it. */
import { isSidecar, someContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { hasInvalidValueInTerms } from '#api/core/v1/pod-spec/node-selectors.ts'
import { hasInvalidTermSelector } from '#api/core/v1/pod-spec/validate-affinity.ts'
import { isDeletionCost } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { hasNonLocalTokenPath } from '#api/core/v1/pod-spec/validate-projected-volume.ts'
import { usesIndivisibleHugePages } from '#api/core/v1/pod-spec/validate-resources.ts'
import { hostNamespaceOf } from '#api/core/v1/pod-spec/validate-security-context.ts'
import { hasInvalidSpreadSelector, violatesMatchLabelKeys } from '#api/core/v1/pod-spec/validate-topology-spread.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { RuleContext } from '#api/resource.ts'

export type PodValidationOptions = {
  readonly allowInvalidPodDeletionCost: boolean
  readonly allowInvalidLabelValueInSelector: boolean
  readonly allowInvalidLabelValueInNodeAffinity: boolean
  readonly allowIndivisibleHugePages: boolean
  readonly allowInvalidTopologySpreadSelector: boolean
  readonly allowNonLocalTokenPath: boolean
  readonly allowHostNamespacedSysctls: boolean
  /** A pod, not a template: some rules can only be validated when the pod is made. */
  readonly resourceIsPod: boolean
  readonly allowOnlyRecursiveSELinuxChangePolicy: boolean
  readonly podLevelResources: boolean
  readonly podLevelResize: boolean
  readonly resizeInitContainers: boolean
  readonly allowMatchLabelKeys: boolean
  /** Whether matchLabelKeys of topology spread are merged into the selector. */
  readonly mergeMatchLabelKeys: boolean
  readonly storedViolatesMatchLabelKeys: boolean
  readonly allowEnvFiles: boolean
  readonly allowContainerRestartRules: boolean
  readonly allowRestartAllContainers: boolean
  readonly allowRestartingInitContainerResize: boolean
  readonly allowUserNamespacesWithVolumeDevices: boolean
  readonly allowUserNamespacesWithHostNetwork: boolean
  readonly allowComparingTolerations: boolean
  readonly allowImageVolumeDigest: boolean
  readonly clearNominatedNodeName: boolean
}

export type Gates = Pick<RuleContext, 'isEnabled'>

/** For callers that ask outside of any server. */
export const defaultGates: Gates = new FeatureGates()

// The options of a create depend on the gates alone.
const ofCreate = new WeakMap<Gates['isEnabled'], PodValidationOptions>()

export function optionsForCreate({ isEnabled }: Gates): PodValidationOptions {
  const known = ofCreate.get(isEnabled)
  if (known) return known
  const options: PodValidationOptions = {
    allowInvalidPodDeletionCost: !isEnabled('PodDeletionCost'),
    allowInvalidLabelValueInSelector: false,
    allowInvalidLabelValueInNodeAffinity: false,
    allowIndivisibleHugePages: false,
    allowInvalidTopologySpreadSelector: false,
    allowNonLocalTokenPath: false,
    allowHostNamespacedSysctls: false,
    resourceIsPod: false,
    allowOnlyRecursiveSELinuxChangePolicy: !isEnabled('SELinuxMount'),
    podLevelResources: isEnabled('PodLevelResources'),
    podLevelResize: isEnabled('InPlacePodLevelResourcesVerticalScaling'),
    resizeInitContainers: isEnabled('InPlacePodVerticalScalingInitContainers'),
    allowMatchLabelKeys: isEnabled('MatchLabelKeysInPodTopologySpread'),
    mergeMatchLabelKeys: isEnabled('MatchLabelKeysInPodTopologySpreadSelectorMerge'),
    storedViolatesMatchLabelKeys: false,
    allowEnvFiles: isEnabled('EnvFiles'),
    allowContainerRestartRules: isEnabled('ContainerRestartRules'),
    allowRestartAllContainers: isEnabled('RestartAllContainersOnContainerExits'),
    allowRestartingInitContainerResize: false,
    allowUserNamespacesWithVolumeDevices: false,
    allowUserNamespacesWithHostNetwork: isEnabled('UserNamespacesHostNetworkSupport'),
    allowComparingTolerations: isEnabled('TaintTolerationComparisonOperators'),
    allowImageVolumeDigest: isEnabled('ImageVolumeWithDigest'),
    clearNominatedNodeName: isEnabled('ClearingNominatedNodeNameAfterBinding'),
  }
  ofCreate.set(isEnabled, options)
  return options
}

/** `prev` and `prevMeta` are those of the stored object. */
export function optionsForUpdate(prev: V1PodSpec, prevMeta: V1ObjectMeta | undefined, gates: Gates): PodValidationOptions {
  const base = optionsForCreate(gates)
  const spread = prev.topologySpreadConstraints ?? []
  const sysctls = prev.securityContext?.sysctls ?? []
  return {
    ...base,
    allowInvalidPodDeletionCost: base.allowInvalidPodDeletionCost || !isDeletionCost(prevMeta?.annotations),
    allowInvalidLabelValueInSelector: hasInvalidTermSelector(prev.affinity),
    allowInvalidLabelValueInNodeAffinity: hasInvalidValueInTerms(
      prev.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms,
    ),
    allowIndivisibleHugePages: usesIndivisibleHugePages(prev),
    allowInvalidTopologySpreadSelector: hasInvalidSpreadSelector(spread),
    allowNonLocalTokenPath: hasNonLocalTokenPath(prev),
    allowHostNamespacedSysctls: sysctls.some(({ name }) => hostNamespaceOf(name, prev) !== undefined),
    allowOnlyRecursiveSELinuxChangePolicy:
      base.allowOnlyRecursiveSELinuxChangePolicy && prev.securityContext?.seLinuxChangePolicy === undefined,
    storedViolatesMatchLabelKeys: base.allowMatchLabelKeys && violatesMatchLabelKeys(spread, base.mergeMatchLabelKeys),
    allowEnvFiles: base.allowEnvFiles || usesFileKeyRef(prev),
    allowContainerRestartRules: base.allowContainerRestartRules || usesContainerRestartRules(prev),
    allowRestartAllContainers: base.allowRestartAllContainers || restartsAllContainers(prev),
    allowRestartingInitContainerResize: (prev.initContainers ?? []).some(
      (container) => !isSidecar(container) && container.resizePolicy?.some(({ restartPolicy }) => restartPolicy === 'RestartContainer'),
    ),
    allowUserNamespacesWithVolumeDevices:
      prev.hostUsers === false && someContainer(prev, ({ volumeDevices }) => Boolean(volumeDevices?.length)),
    allowUserNamespacesWithHostNetwork: base.allowUserNamespacesWithHostNetwork || (prev.hostUsers === false && prev.hostNetwork === true),
    allowComparingTolerations:
      base.allowComparingTolerations || (prev.tolerations ?? []).some(({ operator }) => operator === 'Lt' || operator === 'Gt'),
  }
}

export const usesFileKeyRef = (spec: V1PodSpec | undefined): boolean =>
  someContainer(spec, ({ env }) => (env ?? []).some(({ valueFrom }) => valueFrom?.fileKeyRef !== undefined))

export function usesContainerRestartRules(spec: V1PodSpec | undefined): boolean {
  for (const container of spec?.initContainers ?? []) {
    if (container.restartPolicy !== undefined && !isSidecar(container)) return true
    if (container.restartPolicyRules?.length) return true
  }
  return (spec?.containers ?? []).some(({ restartPolicy }) => restartPolicy !== undefined)
}

function restartsAllContainers(spec: V1PodSpec): boolean {
  const both = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
  if (both.some(({ restartPolicyRules }) => restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'))) return true
  return (spec.initContainers ?? []).some((container) => isSidecar(container) && container.restartPolicyRules?.length)
}
