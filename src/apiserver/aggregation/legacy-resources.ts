import { defined } from '#base/defined.ts'

/** An APIResourceList in the words of aggregated discovery, for servers that do not speak it. */

type Listed = {
  name?: string
  singularName?: string
  namespaced?: boolean
  group?: string
  version?: string
  kind?: string
  verbs?: string[]
  shortNames?: string[]
  categories?: string[]
}

type Resource = {
  resource: string
  responseKind: object
  scope: string
  singularResource: string
  verbs: string[]
  shortNames?: string[]
  categories?: string[]
  subresources?: object[]
}

export function legacyResources(list: unknown): Resource[] {
  const { groupVersion = '', resources } = (list ?? {}) as { groupVersion?: string; resources?: unknown }
  const [group = '', version = ''] = String(groupVersion).includes('/') ? String(groupVersion).split('/') : ['', String(groupVersion)]
  const listed = (Array.isArray(resources) ? resources : []).filter((each): each is Listed => typeof each?.name === 'string')
  const kindOf = (each: Listed) => ({ group: each.group || group, version: each.version || version, kind: each.kind ?? '' })
  const found = new Map<string, Resource>()
  for (const each of listed) {
    const { name = '', verbs = [], shortNames, categories } = each
    if (name.includes('/')) continue
    found.set(name, {
      resource: name,
      responseKind: kindOf(each),
      scope: each.namespaced ? 'Namespaced' : 'Cluster',
      singularResource: each.singularName ?? '',
      verbs,
      ...defined({ shortNames, categories }),
    })
  }
  for (const each of listed) {
    const [name = '', subresource] = (each.name ?? '').split('/')
    const parent = found.get(name)
    if (subresource === undefined || parent === undefined) continue
    parent.subresources = [...(parent.subresources ?? []), { subresource, responseKind: kindOf(each), verbs: each.verbs ?? [] }]
  }
  return [...found.values()]
}
