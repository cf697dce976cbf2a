import { customResourceDefinitionResource } from '#api/apiextensions/v1beta1/custom-resource-definition.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const apiextensionsV1beta1: readonly ResourceDefinition[] = [customResourceDefinitionResource]
