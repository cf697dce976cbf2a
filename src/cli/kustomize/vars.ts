/** `vars`: values of fields put where `$(NAME)` stands. The old form of replacements. */
import { defined } from '#base/defined.ts'
import { CliError } from '#cli/cli-error.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'
import { fieldPath, valueAt } from './field-path.ts'
import { type FieldSpec, placesOf } from './field-spec.ts'
import { everyIdentity, type Item, isSelectedBy } from './item.ts'
import type { VarEntry } from './kustomization.ts'

/** Values are as they are after everything else was done. */
export function fillVariables(vars: readonly VarEntry[], items: readonly Item[], places: readonly FieldSpec[]): void {
  if (vars.length === 0) return
  const values = new Map(vars.map((each) => [each.name, valueOfVariable(each, items)]))
  const filled = (text: unknown): unknown => {
    if (typeof text !== 'string') return text
    const whole = /^\$\(([-\w.]+)\)$/.exec(text)?.[1]
    if (whole !== undefined && values.has(whole)) return values.get(whole)
    return text.replaceAll(/\$(\$|\(([-\w.]+)\))/g, (same, _inside: string, name?: string) =>
      name === undefined ? same : values.has(name) ? String(values.get(name)) : same,
    )
  }
  for (const { object } of items)
    for (const spec of places)
      for (const { holder, key } of placesOf(object, spec)) {
        const value = holder[key]
        if (Array.isArray(value)) holder[key] = value.map(filled)
        else if (typeof value === 'object' && value !== null)
          holder[key] = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each)]))
        else holder[key] = filled(value)
      }
}

function valueOfVariable({ name, objref, fieldref }: VarEntry, items: readonly Item[]): unknown {
  const [group, version] = objref.apiVersion === undefined ? [objref.group, objref.version] : groupAndVersion(objref.apiVersion)
  const isMeant = (item: Item) =>
    everyIdentity(item).some(
      (identity) =>
        identity.name === objref.name &&
        isSelectedBy(identity, defined({ group, version, kind: objref.kind })) &&
        (group !== '' || identity.group === '') &&
        (objref.namespace === undefined || (identity.namespace || 'default') === objref.namespace),
    )
  const found = items.filter(isMeant)
  if (found.length > 1) throw new CliError(`found ${found.length} resId matches for var ${name} (unable to disambiguate)`)
  const [item] = found
  if (item === undefined) throw new CliError(`var '{${name} …}' cannot be mapped to a field in the set of known resources`)
  const value = valueAt(item.object, fieldPath(fieldref?.fieldpath ?? fieldref?.fieldPath ?? 'metadata.name'))
  if (value === undefined) throw new CliError(`field specified in var '${name}' not found in corresponding resource`)
  return value
}
