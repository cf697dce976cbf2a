import type { KubernetesObject, ResourceDefinition, StoredAs } from '#api/resource.ts'

/** A version that differs from the stored one in nothing but its name. */
export function sameShape<T extends KubernetesObject>(definition: ResourceDefinition<T>, version: string): StoredAs {
  const renamed = (name: string) => (object: KubernetesObject) => {
    object.apiVersion = `${definition.group}/${name}`
    return object
  }
  return { definition, toStored: renamed(definition.version), fromStored: renamed(version) }
}
