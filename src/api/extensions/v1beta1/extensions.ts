import { daemonSetResource } from '#api/extensions/v1beta1/daemon-set.ts'
import { deploymentResource } from '#api/extensions/v1beta1/deployment.ts'
import { horizontalPodAutoscalerResource } from '#api/extensions/v1beta1/horizontal-pod-autoscaler.ts'
import { ingressResource } from '#api/extensions/v1beta1/ingress.ts'
import { jobResource } from '#api/extensions/v1beta1/job.ts'
import { typeName } from '#api/extensions/v1beta1/older-types.ts'
import { replicaSetResource } from '#api/extensions/v1beta1/replica-set.ts'
import { thirdPartyResource } from '#api/extensions/v1beta1/third-party-resource.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import { networkPolicyResource as networkPolicyV1 } from '#api/networking/v1/network-policy.ts'
import { podSecurityPolicyResource as podSecurityPolicyOfPolicy } from '#api/policy/v1beta1/pod-security-policy.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const here = { group: 'extensions', version: 'v1beta1', shortNames: [] } as const

const networkPolicyResource = legacyVersion(networkPolicyV1, {
  ...here,
  schema: 'io.k8s.api.extensions.v1beta1.NetworkPolicy',
  deprecated: { deprecatedIn: '1.9', removedIn: '1.16' },
})

const podSecurityPolicyResource = legacyVersion(podSecurityPolicyOfPolicy, {
  ...here,
  schema: typeName('PodSecurityPolicy'),
  deprecated: { deprecatedIn: '1.11', removedIn: '1.16' },
})

/** The first home of most workloads; the short names went with them to their own groups. */
export const extensionsV1beta1: readonly ResourceDefinition[] = [
  daemonSetResource,
  deploymentResource,
  horizontalPodAutoscalerResource,
  ingressResource,
  jobResource,
  networkPolicyResource,
  podSecurityPolicyResource,
  replicaSetResource,
  thirdPartyResource,
]
