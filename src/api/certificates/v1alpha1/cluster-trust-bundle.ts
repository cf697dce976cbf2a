import type { V1alpha1ClusterTrustBundle } from '#api/certificates/v1alpha1/types.gen.ts'
import { ClusterTrustBundle as ClusterTrustBundleV1beta1 } from '#api/certificates/v1beta1/cluster-trust-bundle.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const ClusterTrustBundle = defineResource<V1alpha1ClusterTrustBundle>({
  ...ClusterTrustBundleV1beta1,
  version: 'v1alpha1',
  schema: 'io.k8s.api.certificates.v1alpha1.ClusterTrustBundle',
  stability: 'alpha',
  storedAs: sameShape(ClusterTrustBundleV1beta1, 'v1alpha1'),
})
