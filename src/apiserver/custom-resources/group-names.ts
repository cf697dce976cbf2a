import type { V1CustomResourceDefinitionNames } from '#api/apiextensions/v1/types.gen.ts'
import type { TakenNames } from '#api/custom-kinds/definition-status.ts'

type Names = Partial<V1CustomResourceDefinitionNames>

/** Which names the definitions of one group have got: kept up as they come and go, since a group may have hundreds. */
export class GroupNames implements TakenNames {
  readonly resources = new Map<string, number>()
  readonly kinds = new Map<string, number>()
  readonly #accepted = new Map<string, Names>()
  /** Definitions that have not got all the names they ask for. */
  readonly unsettled = new Set<string>()

  get isEmpty(): boolean {
    return this.#accepted.size === 0
  }

  /** Whether names that the definition had are free now. */
  set(definition: string, accepted: Names, isSettled: boolean): boolean {
    const before = this.#accepted.get(definition) ?? {}
    this.#accepted.set(definition, accepted)
    count(this.resources, resourceNames(accepted), 1)
    count(this.kinds, kindNames(accepted), 1)
    count(this.resources, resourceNames(before), -1)
    count(this.kinds, kindNames(before), -1)
    if (isSettled) this.unsettled.delete(definition)
    else this.unsettled.add(definition)
    return resourceNames(before).some((name) => !this.resources.has(name)) || kindNames(before).some((name) => !this.kinds.has(name))
  }

  delete(definition: string): void {
    this.set(definition, {}, true)
    this.#accepted.delete(definition)
  }
}

function count(names: Map<string, number>, changed: readonly string[], by: 1 | -1): void {
  for (const name of changed) {
    const left = (names.get(name) ?? 0) + by
    if (left === 0) names.delete(name)
    else names.set(name, left)
  }
}

const resourceNames = ({ plural = '', singular = '', shortNames = [] }: Names): string[] => [plural, singular, ...shortNames]

const kindNames = ({ kind = '', listKind = '' }: Names): string[] => [kind, listKind]
