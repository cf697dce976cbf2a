/** `kubectl cluster-info dump` */
import { join } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { printerFor } from '#cli/print/printer.ts'

const parts = ['events', 'replicationcontrollers', 'services', 'daemonsets', 'deployments', 'replicasets', 'pods']
/** As files are called. */
const fileNames: Readonly<Record<string, string>> = { replicationcontrollers: 'replication-controllers' }
const ofApps = new Set(['daemonsets', 'deployments', 'replicasets'])

export async function clusterInfoDump(call: Call): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  const chosen = await printerFor(call, { output: flags.text('output') || 'json' })
  // Fields stay where the server has put them, unlike those of `get -o json`.
  const isJson = ['', 'json'].includes(flags.text('output'))
  const print = (given: ApiObject) => {
    const list = asGoHasIt(given)
    return isJson ? `${escaped(JSON.stringify(list, null, 4))}\n` : (chosen?.(list) ?? '')
  }
  const directory = flags.text('output-directory')
  const write = async (name: string, text: string) => {
    if (directory === '' || directory === '-') return host.write(text)
    const path = join(directory, name)
    await host.files.makeDirectory(join(path, '..'), { mode: 0o755 })
    return host.files.write(path, text, { mode: 0o644 })
  }
  const extension = flags.text('output') === 'yaml' ? '.yaml' : '.json'
  await write(`nodes${extension}`, print(await rest.json<ApiObject>({ path: '/api/v1/nodes' })))
  for (const namespace of await namespacesOf(call)) {
    for (const part of parts) {
      const root = ofApps.has(part) ? '/apis/apps/v1' : '/api/v1'
      const list = await rest.json<ApiObject & { items: V1Pod[] }>({ path: `${root}/namespaces/${namespace}/${part}` })
      await write(join(namespace, `${fileNames[part] ?? part}${extension}`), print(list))
      if (part !== 'pods') continue
      for (const { metadata, spec } of list.items) {
        for (const { name } of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
          const head = `==== START logs for container ${name} of pod ${namespace}/${metadata?.name} ====\n`
          const logs = await rest
            .text({ path: `/api/v1/namespaces/${namespace}/pods/${metadata?.name}/log`, query: { container: name } })
            .catch((error: Error) => `Create log error: ${error.message}\n`)
          await write(
            join(namespace, metadata?.name ?? '', 'logs.txt'),
            `${head}${logs}==== END logs for container ${name} of pod ${namespace}/${metadata?.name} ====\n`,
          )
        }
      }
    }
  }
  if (directory !== '' && directory !== '-') host.write(`Cluster info dumped to ${directory}\n`)
}

async function namespacesOf({ flags, session }: Call): Promise<string[]> {
  const rest = await session.rest
  if (flags.isOn('all-namespaces'))
    return (await rest.json<{ items: ApiObject[] }>({ path: '/api/v1/namespaces' })).items.map(({ metadata }) => metadata?.name ?? '')
  if (flags.list('namespaces').length > 0) return flags.list('namespaces')
  return ['kube-system', await session.namespace()]
}

/** A list of nothing is none there, and versions stand behind identities. */
function asGoHasIt(list: ApiObject): ApiObject {
  const items = ((list['items'] ?? []) as ApiObject[]).map(({ metadata = {}, ...rest }) => {
    const { name, generateName, namespace, uid, resourceVersion, managedFields: _managers, ...others } = metadata
    return { metadata: { ...defined({ name, generateName, namespace, uid, resourceVersion }), ...others }, ...rest }
  })
  return { ...list, items: items.length === 0 ? null : items }
}

/** Go writes what HTML would take for marks in another way. */
const escaped = (json: string): string =>
  json.replaceAll(/[<>&\u2028\u2029]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
