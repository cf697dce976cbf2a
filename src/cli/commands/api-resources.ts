/** `kubectl api-resources` and `kubectl api-versions` */
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { keepOrder, printerFor } from '#cli/print/printer.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'
import { apiVersionOf, resourceText } from '#cli/session/resource-types.ts'
import type { ResourceType, Served } from '#cli/session/served-resources.ts'

export async function apiResources(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  if (args.length > 0) throw usageError('api-resources', `unexpected arguments: [${args.join(' ')}]`)
  const output = flags.text('output')
  const formats = ['json', 'kyaml', 'name', 'wide', 'yaml']
  if (output !== '' && !formats.includes(output)) await printerFor(call, { formats })
  const sortBy = flags.text('sort-by')
  if (!['', 'name', 'kind'].includes(sortBy)) throw new CliError(`--sort-by accepts only name or kind`)
  const served = await (await session.types).all(!flags.isOn('cached'))
  const shown = sorted(
    preferred(served).filter((type) => isWanted(call, type)),
    sortBy,
  )
  if (output === 'json' || output === 'yaml' || output === 'kyaml') {
    const resources = shown.map((type) => ({
      name: type.plural,
      singularName: type.singular,
      namespaced: type.isNamespaced,
      ...omitEmpty({ group: type.group }),
      version: type.version,
      kind: type.kind,
      verbs: type.verbs,
      ...omitEmpty({ shortNames: type.shortNames, categories: type.categories }),
    }))
    const printer = await printerFor(call, { formats })
    host.write(printer?.(keepOrder({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: '', resources } as ApiObject)) ?? '')
    return
  }
  if (output === 'name') {
    for (const type of shown) host.write(`${resourceText(type)}\n`)
    return
  }
  const out = new TabWriter()
  const isWide = output === 'wide'
  if (!flags.isOn('no-headers'))
    out.row(['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND', ...(isWide ? ['VERBS', 'CATEGORIES'] : [])])
  for (const type of shown)
    out.row([
      type.plural,
      type.shortNames.join(','),
      apiVersionOf(type),
      String(type.isNamespaced),
      type.kind,
      ...(isWide ? [type.verbs.join(','), type.categories.join(',')] : []),
    ])
  host.write(out.flush())
  if (served.failures.length > 0)
    throw new CliError(
      `unable to retrieve the complete list of server APIs: ${served.failures.map(({ groupVersion, message }) => `${groupVersion}: ${message}`).join(', ')}`,
    )
}

/** Each resource in the first version of its group that has it. */
function preferred({ resources }: Served): ResourceType[] {
  const first = new Map<string, ResourceType>()
  for (const type of resources) {
    const key = `${type.group}/${type.plural}`
    if (!first.has(key)) first.set(key, type)
  }
  return [...first.values()]
}

function isWanted({ flags }: Call, type: ResourceType): boolean {
  if (flags.isSet('api-group') && type.group !== flags.text('api-group')) return false
  if (flags.isSet('namespaced') && type.isNamespaced !== flags.isOn('namespaced')) return false
  if (!flags.list('verbs').every((verb) => type.verbs.includes(verb))) return false
  return flags.list('categories').every((category) => type.categories.includes(category))
}

function sorted(types: readonly ResourceType[], by: string): ResourceType[] {
  const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)
  return types.toSorted((one, other) => {
    if (by === 'name') return compare(one.plural, other.plural)
    if (by === 'kind') return compare(one.kind, other.kind)
    return compare(one.group, other.group) || compare(one.plural, other.plural)
  })
}

export async function apiVersions({ args, host, session }: Call): Promise<void> {
  if (args.length > 0) throw usageError('api-versions', `unexpected arguments: [${args.join(' ')}]`)
  const { groupVersions } = await (await session.types).all(true)
  for (const each of groupVersions.toSorted()) host.write(`${each}\n`)
}
