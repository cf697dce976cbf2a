/** What controllers read: the shared informers, by the questions controllers ask. Everything is shared and read-only. */

import type { Kind } from '#api/kind.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Informer } from '#client/informer/informer.ts'
import type { Informers } from '#client/informer/informers.ts'
import type { IndexFunction } from '#client/informer/object-store.ts'

const controllerIndex = 'controller'

export class Cache {
  readonly #informers: Informers

  constructor(informers: Informers) {
    this.#informers = informers
  }

  get<T extends KubernetesObject>(kind: Kind<T>, namespace: string, name: string): T | undefined {
    return this.informer(kind).get(namespace, name)
  }

  /** All there are, or all of a namespace. */
  list<T extends KubernetesObject>(kind: Kind<T>, namespace = ''): readonly T[] {
    return this.informer(kind).list(namespace)
  }

  /** Those whose controller the object is. */
  controlledBy<T extends KubernetesObject>(kind: Kind<T>, owner: KubernetesObject): readonly T[] {
    return this.informer(kind).byIndex(controllerIndex, owner.metadata?.uid ?? '')
  }

  /** Those of the namespace that nobody controls. */
  orphans<T extends KubernetesObject>(kind: Kind<T>, namespace: string): readonly T[] {
    return this.informer(kind).byIndex(controllerIndex, orphansOf(namespace))
  }

  byIndex<T extends KubernetesObject>(kind: Kind<T>, index: string, value: string): readonly T[] {
    return this.informer(kind).byIndex(index, value)
  }

  addIndex<T extends KubernetesObject>(kind: Kind<T>, index: string, of: IndexFunction<T>): void {
    this.informer(kind).addIndex(index, of)
  }

  informer<T extends KubernetesObject>(kind: Kind<T>): Informer<T> {
    const informer = this.#informers.of(kind)
    informer.addIndex(controllerIndex, (object) => [controllerOf(object)?.uid ?? orphansOf(object.metadata?.namespace ?? '')])
    return informer
  }
}

const orphansOf = (namespace: string): string => `orphans/${namespace}`
