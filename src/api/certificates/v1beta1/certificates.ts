import { CertificateSigningRequest } from '#api/certificates/v1beta1/certificate-signing-request.ts'
import { ClusterTrustBundle } from '#api/certificates/v1beta1/cluster-trust-bundle.ts'
import { PodCertificateRequest } from '#api/certificates/v1beta1/pod-certificate-request.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const certificatesV1beta1: readonly ResourceDefinition[] = [CertificateSigningRequest, ClusterTrustBundle, PodCertificateRequest]
