import { certificateSigningRequestResource } from '#api/certificates/v1/certificate-signing-request.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const certificatesV1: readonly ResourceDefinition[] = [certificateSigningRequestResource]
