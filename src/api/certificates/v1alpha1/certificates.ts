import { clusterTrustBundleResource } from '#api/certificates/v1alpha1/cluster-trust-bundle.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const certificatesV1alpha1: readonly ResourceDefinition[] = [clusterTrustBundleResource]
