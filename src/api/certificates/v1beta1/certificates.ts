import { certificateSigningRequestResource } from '#api/certificates/v1beta1/certificate-signing-request.ts'
import { clusterTrustBundleResource } from '#api/certificates/v1beta1/cluster-trust-bundle.ts'
import { podCertificateRequestResource } from '#api/certificates/v1beta1/pod-certificate-request.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const certificatesV1beta1: readonly ResourceDefinition[] = [
  certificateSigningRequestResource,
  clusterTrustBundleResource,
  podCertificateRequestResource,
]
