/** The types of extensions/v1beta1 that left it early. */

import type { V1HorizontalPodAutoscalerStatus } from '#api/autoscaling/v1/types.gen.ts'
import type { V1JobSpec, V1JobStatus } from '#api/batch/v1/types.gen.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { writeTypes } from '#api/schema/written-types.ts'

export type V1beta1Job = {
  kind?: string
  apiVersion?: string
  metadata: V1ObjectMeta
  spec: V1beta1JobSpec
  status?: V1JobStatus
}

/** `autoSelector` was the opposite of `manualSelector`. */
export type V1beta1JobSpec = Omit<V1JobSpec, 'manualSelector'> & { autoSelector?: boolean }

export type V1beta1HorizontalPodAutoscaler = {
  kind?: string
  apiVersion?: string
  metadata: V1ObjectMeta
  spec: V1beta1HorizontalPodAutoscalerSpec
  status?: V1HorizontalPodAutoscalerStatus
}

export type V1beta1HorizontalPodAutoscalerSpec = {
  scaleRef: { kind?: string; name?: string; apiVersion?: string; subresource?: string }
  minReplicas?: number
  maxReplicas: number
  cpuUtilization?: { targetPercentage: number }
}

export const typeName = writeTypes({
  package: 'io.k8s.api.extensions.v1beta1',
  group: 'extensions',
  version: 'v1beta1',
  text: `
kind ThirdPartyResource
  description Description s o 2
  versions Versions [@.APIVersion o 3
APIVersion
  name Name s o 1
kind Job
  spec Spec @.JobSpec o 2
  status Status @io.k8s.api.batch.v1.JobStatus o 3
JobSpec like batch.v1 without manualSelector
  autoSelector AutoSelector *b o 5

kind HorizontalPodAutoscaler
  spec Spec @.HorizontalPodAutoscalerSpec o 2
  status Status @io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerStatus o 3
HorizontalPodAutoscalerSpec
  scaleRef ScaleRef @.SubresourceReference r 1
  minReplicas MinReplicas *i o 2
  maxReplicas MaxReplicas i r 3
  cpuUtilization CPUUtilization *@.CPUTargetUtilization o 4
SubresourceReference
  kind Kind s o 1
  name Name s o 2
  apiVersion APIVersion s o 3
  subresource Subresource s o 4
CPUTargetUtilization
  targetPercentage TargetPercentage i r 1

kind PodSecurityPolicy
  spec Spec @io.k8s.api.policy.v1beta1.PodSecurityPolicySpec o 2
`,
})
