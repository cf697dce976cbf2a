/** All admission plugins, in the order in which they are asked. */

import type { AdmissionContext, AdmissionPlugin, AdmissionPluginFactory } from '#apiserver/admission/admission.ts'
import { alwaysAdmit } from '#apiserver/admission/always-admit.ts'
import { alwaysDeny } from '#apiserver/admission/always-deny.ts'
import { alwaysPullImages } from '#apiserver/admission/always-pull-images.ts'
import { certificateApproval } from '#apiserver/admission/certificates/certificate-approval.ts'
import { certificateSigning } from '#apiserver/admission/certificates/certificate-signing.ts'
import { certificateSubjectRestriction } from '#apiserver/admission/certificates/certificate-subject-restriction.ts'
import { clusterTrustBundleAttest } from '#apiserver/admission/certificates/cluster-trust-bundle-attest.ts'
import type { PluginConfigurations } from '#apiserver/admission/configuration.ts'
import { defaultIngressClass } from '#apiserver/admission/default-ingress-class.ts'
import { defaultStorageClass } from '#apiserver/admission/default-storage-class.ts'
import { defaultTolerationSeconds } from '#apiserver/admission/default-toleration-seconds.ts'
import { denyServiceExternalIPs } from '#apiserver/admission/deny-service-external-ips.ts'
import { eventRateLimit } from '#apiserver/admission/event-rate-limit.ts'
import { extendedResourceToleration } from '#apiserver/admission/extended-resource-toleration.ts'
import { imagePolicyWebhook } from '#apiserver/admission/image-policy-webhook.ts'
import { limitPodHardAntiAffinityTopology } from '#apiserver/admission/limit-pod-hard-anti-affinity-topology.ts'
import { limitRanger } from '#apiserver/admission/limit-ranger/limit-ranger.ts'
import { namespaceAutoProvision } from '#apiserver/admission/namespace-auto-provision.ts'
import { namespaceExists } from '#apiserver/admission/namespace-exists.ts'
import { namespaceLifecycle } from '#apiserver/admission/namespace-lifecycle.ts'
import { nodeDeclaredFeatureValidator } from '#apiserver/admission/node-declared-feature-validator.ts'
import { nodeRestriction } from '#apiserver/admission/node-restriction/node-restriction.ts'
import { ownerReferencesPermissionEnforcement } from '#apiserver/admission/owner-references-permission-enforcement.ts'
import { persistentVolumeClaimResize } from '#apiserver/admission/persistent-volume-claim-resize.ts'
import { jobValidation } from '#apiserver/admission/pod-groups/job-validation.ts'
import { podGroupProtection } from '#apiserver/admission/pod-groups/pod-group-protection.ts'
import { podGroupWorkloadExists } from '#apiserver/admission/pod-groups/pod-group-workload-exists.ts'
import { podNodeSelector } from '#apiserver/admission/pod-node-selector.ts'
import { podPreset } from '#apiserver/admission/pod-preset.ts'
import { podResizeValidator } from '#apiserver/admission/pod-resize-validator.ts'
import { podSecurity } from '#apiserver/admission/pod-security/pod-security.ts'
import { podSecurityPolicy } from '#apiserver/admission/pod-security-policy/pod-security-policy.ts'
import { podTolerationRestriction } from '#apiserver/admission/pod-toleration-restriction.ts'
import { podTopologyLabels } from '#apiserver/admission/pod-topology-labels.ts'
import { mutatingAdmissionPolicy } from '#apiserver/admission/policies/mutating-admission-policy.ts'
import { validatingAdmissionPolicy } from '#apiserver/admission/policies/validating-admission-policy.ts'
import { priority } from '#apiserver/admission/priority.ts'
import { resourceQuota } from '#apiserver/admission/resource-quota/resource-quota.ts'
import { runtimeClass } from '#apiserver/admission/runtime-class.ts'
import { securityContextDeny } from '#apiserver/admission/security-context-deny.ts'
import { serviceAccount } from '#apiserver/admission/service-account/service-account.ts'
import { storageObjectInUseProtection } from '#apiserver/admission/storage-object-in-use-protection.ts'
import { taintNodesByCondition } from '#apiserver/admission/taint-nodes-by-condition.ts'
import { verticalPodAutoscaler } from '#apiserver/admission/vertical-pod-autoscaler.ts'
import { mutatingAdmissionWebhook } from '#apiserver/admission/webhooks/mutating-admission-webhook.ts'
import { validatingAdmissionWebhook } from '#apiserver/admission/webhooks/validating-admission-webhook.ts'

type PluginEntry = {
  readonly name: string
  readonly isOnByDefault: boolean
  /** The plugin does nothing while one of these is off. */
  readonly featureGates: readonly string[]
  readonly make: AdmissionPluginFactory
}

const on = (name: string, make: AdmissionPluginFactory): PluginEntry => ({ name, isOnByDefault: true, featureGates: [], make })
const off = (name: string, make: AdmissionPluginFactory): PluginEntry => ({ name, isOnByDefault: false, featureGates: [], make })
const gated = (name: string, gate: string, make: AdmissionPluginFactory): PluginEntry => ({ ...on(name, make), featureGates: [gate] })

const allPlugins: readonly PluginEntry[] = [
  off('AlwaysAdmit', alwaysAdmit),
  off('NamespaceAutoProvision', namespaceAutoProvision),
  on('NamespaceLifecycle', namespaceLifecycle),
  off('NamespaceExists', namespaceExists),
  off('SecurityContextDeny', securityContextDeny),
  off('LimitPodHardAntiAffinityTopology', limitPodHardAntiAffinityTopology),
  off('PodPreset', podPreset),
  off('VerticalPodAutoscaler', verticalPodAutoscaler),
  on('LimitRanger', limitRanger),
  on('ServiceAccount', serviceAccount),
  off('NodeRestriction', nodeRestriction),
  on('TaintNodesByCondition', taintNodesByCondition),
  off('AlwaysPullImages', alwaysPullImages),
  off('ImagePolicyWebhook', imagePolicyWebhook),
  on('PodSecurity', podSecurity),
  off('PodSecurityPolicy', podSecurityPolicy),
  off('PodNodeSelector', podNodeSelector),
  on('Priority', priority),
  on('DefaultTolerationSeconds', defaultTolerationSeconds),
  off('PodTolerationRestriction', podTolerationRestriction),
  off('EventRateLimit', eventRateLimit),
  off('ExtendedResourceToleration', extendedResourceToleration),
  on('DefaultStorageClass', defaultStorageClass),
  on('StorageObjectInUseProtection', storageObjectInUseProtection),
  gated('PodGroupProtection', 'GenericWorkload', podGroupProtection),
  off('OwnerReferencesPermissionEnforcement', ownerReferencesPermissionEnforcement),
  on('PersistentVolumeClaimResize', persistentVolumeClaimResize),
  on('RuntimeClass', runtimeClass),
  on('CertificateApproval', certificateApproval),
  on('CertificateSigning', certificateSigning),
  gated('ClusterTrustBundleAttest', 'ClusterTrustBundle', clusterTrustBundleAttest),
  on('CertificateSubjectRestriction', certificateSubjectRestriction),
  on('DefaultIngressClass', defaultIngressClass),
  off('DenyServiceExternalIPs', denyServiceExternalIPs),
  gated('PodTopologyLabels', 'PodTopologyLabelsAdmission', podTopologyLabels),
  gated('PodGroupWorkloadExists', 'GenericWorkload', podGroupWorkloadExists),
  gated('NodeDeclaredFeatureValidator', 'NodeDeclaredFeatures', nodeDeclaredFeatureValidator),
  gated('JobValidation', 'WorkloadWithJob', jobValidation),
  gated('PodResizeValidator', 'InPlacePodVerticalScaling', podResizeValidator),
  gated('MutatingAdmissionPolicy', 'MutatingAdmissionPolicy', mutatingAdmissionPolicy),
  on('MutatingAdmissionWebhook', mutatingAdmissionWebhook),
  on('ValidatingAdmissionPolicy', validatingAdmissionPolicy),
  on('ValidatingAdmissionWebhook', validatingAdmissionWebhook),
  on('ResourceQuota', resourceQuota),
  off('AlwaysDeny', alwaysDeny),
]

export type PluginChoice = {
  readonly enable: readonly string[]
  readonly disable: readonly string[]
  readonly configurations?: PluginConfigurations
}

/** The plugins that run: those on by default and those asked for, less those not wanted. Throws an Error for names nobody knows. */
export function admissionPlugins({ enable, disable, configurations }: PluginChoice, context: AdmissionContext): AdmissionPlugin[] {
  const known = new Set(allPlugins.map(({ name }) => name))
  mustBeKnown('--enable-admission-plugins', enable, known)
  mustBeKnown('--disable-admission-plugins', disable, known)
  const both = enable.filter((name) => disable.includes(name))
  if (both.length > 0) throw new Error(`${both.join(', ')} in enable-admission-plugins and disable-admission-plugins overlapped`)
  return allPlugins
    .filter(({ name, isOnByDefault }) => (isOnByDefault && !disable.includes(name)) || enable.includes(name))
    .filter(({ featureGates }) => featureGates.every((gate) => context.isEnabled(gate)))
    .map(({ name, make }) => make({ ...context, configuration: configurations?.get(name) }))
}

/** The choice by which these plugins run and no others (`--admission-control`). */
export function onlyPlugins(names: readonly string[]): { enable: readonly string[]; disable: readonly string[] } {
  return {
    enable: names,
    disable: allPlugins.filter(({ name, isOnByDefault }) => isOnByDefault && !names.includes(name)).map(({ name }) => name),
  }
}

function mustBeKnown(flag: string, names: readonly string[], known: ReadonlySet<string>): void {
  const unknown = names.filter((name) => !known.has(name))
  if (unknown.length === 0) return
  throw new Error(`${flag}: there is no plugin ${unknown.map((name) => `"${name}"`).join(', ')}; there are ${[...known].join(', ')}`)
}
