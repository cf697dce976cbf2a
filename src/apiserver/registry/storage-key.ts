import type { ResourceDefinition } from '#api/resource.ts'

/** Where the objects of a resource lie: `/registry/pods/`, `/registry/services/specs/`, … */
export function storagePrefix(definition: ResourceDefinition): string {
  return `/registry/${definition.storagePath ?? definition.plural}/`
}

export function storageKey(definition: ResourceDefinition, namespace: string, name: string): string {
  const prefix = storagePrefix(definition)
  return definition.scope === 'Namespaced' ? `${prefix}${namespace}/${name}` : `${prefix}${name}`
}
