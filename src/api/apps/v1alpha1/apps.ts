import { petSetResource } from '#api/apps/v1alpha1/pet-set.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const appsV1alpha1: readonly ResourceDefinition[] = [petSetResource]
