import { storageVersionResource } from '#api/internal/v1alpha1/storage-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const internalV1alpha1: readonly ResourceDefinition[] = [storageVersionResource]
