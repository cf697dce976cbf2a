import type { ResourceDefinition } from '#api/resource.ts'
import { podPresetResource } from '#api/settings/v1alpha1/pod-preset.ts'

export const settingsV1alpha1: readonly ResourceDefinition[] = [podPresetResource]
