import { ClusterTrustBundle } from '#api/certificates/v1alpha1/kinds.gen.ts'
import { clusterTrustBundleResource as clusterTrustBundleV1beta1 } from '#api/certificates/v1beta1/cluster-trust-bundle.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const clusterTrustBundleResource = defineResource(ClusterTrustBundle, {
  ...clusterTrustBundleV1beta1,
  storedAs: sameShape(clusterTrustBundleV1beta1, 'v1alpha1'),
})
