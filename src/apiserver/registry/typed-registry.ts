import type { KubernetesObject } from '#api/resource.ts'
import type { UpdateOptions } from '#apiserver/registry/registry-options.ts'
import type { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import type { ObjectCache } from '#apiserver/watch-cache/object-cache.ts'

/** A registry as those see it who know the kind of its objects. */
export type TypedRegistry<T extends KubernetesObject> = Pick<ResourceRegistry, 'definition' | 'key' | 'delete'> & {
  readonly cache: Omit<ObjectCache, 'get' | 'list'> & {
    get(key: string): CachedObject<T> | undefined
    list(namespace: string): readonly CachedObject<T>[]
  }
  find(namespace: string, name: string): Promise<CachedObject<T> | undefined>
  get(namespace: string, name: string): Promise<CachedObject<T>>
  create(object: T, context: WriteContext): Promise<CachedObject<T>>
  update(name: string, context: WriteContext, options: UpdateOptions<T>): Promise<{ object: CachedObject<T>; wasCreated: boolean }>
  change(name: string, context: WriteContext, options: ChangeOptions<T>): Promise<{ object: CachedObject<T> }>
}

/** Of an object that must be there. */
export type ChangeOptions<T extends KubernetesObject = KubernetesObject> = Omit<UpdateOptions<T>, 'transform' | 'createsIfMissing'> & {
  transform: (prev: T) => T | Promise<T>
}
