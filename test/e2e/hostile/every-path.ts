/** Every request a server has an answer to, found by asking it. */
export type AskedPath = { method: string; path: string }

type Ask = (path: string) => Promise<Record<string, unknown>>
type Resource = { name: string; namespaced: boolean; verbs: string[] }

const methods: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
}
const onCollections: ReadonlySet<string> = new Set(['list', 'watch', 'create', 'deletecollection'])

/** Of resources in every served version, with all their subresources. */
export async function everyResourcePath(ask: Ask): Promise<AskedPath[]> {
  const { groups = [] } = (await ask('/apis')) as { groups?: { versions: { groupVersion: string }[] }[] }
  const roots = ['/api/v1', ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`))]
  const found: AskedPath[] = []
  for (const root of roots) {
    const { resources = [] } = (await ask(root)) as { resources?: Resource[] }
    for (const { name, namespaced, verbs } of resources)
      found.push(...pathsOf(`${root}${namespaced ? '/namespaces/dev' : ''}`, name, verbs))
  }
  return found
}

function pathsOf(root: string, resource: string, verbs: readonly string[]): AskedPath[] {
  const [plural = '', subresource] = resource.split('/')
  return verbs.map((verb) => {
    const isOfMany = subresource === undefined && onCollections.has(verb)
    const path = `${root}/${plural}${isOfMany ? '' : '/x'}${subresource === undefined ? '' : `/${subresource}`}`
    return { method: methods[verb] ?? 'GET', path: verb === 'watch' ? `${path}?watch=true` : path }
  })
}

/** As the server lists them itself. */
export async function everyOtherPath(ask: Ask): Promise<string[]> {
  const { paths = [] } = (await ask('/')) as { paths?: string[] }
  return paths
}
