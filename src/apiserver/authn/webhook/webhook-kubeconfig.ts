import { dirname, resolve } from 'node:path'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { HttpClientOptions } from '#base/http-client.ts'

/** Where a webhook is, and how to be let in there. */
export type WebhookTarget = { url: string; connection: HttpClientOptions; headers: Record<string, string> }

type Entry = { name?: unknown; [key: string]: unknown }

/** A webhook is described by a kubeconfig: the cluster is the service, the user is how this server shows itself. */
export async function readWebhookKubeconfig(files: Files, path: string): Promise<WebhookTarget> {
  const { load } = await import('js-yaml')
  const config = asMap(load(await files.readText(path)), path)
  const context = named(config['contexts'], config['current-context'] ?? only(config['contexts'])?.name, 'context', path)
  const cluster = named(config['clusters'], context?.['cluster'] ?? only(config['clusters'])?.name, 'cluster', path)
  const user = named(config['users'], context?.['user'] ?? only(config['users'])?.name, 'user', path) ?? {}
  if (cluster === undefined || typeof cluster['server'] !== 'string') throw new Error(`${path}: there is no cluster with a server to ask`)

  const material = async (map: Entry, name: string): Promise<string | undefined> => {
    const data = map[`${name}-data`]
    if (typeof data === 'string') return Buffer.from(data, 'base64').toString('utf8')
    const file = map[name]
    return typeof file === 'string' && file !== '' ? files.readText(resolve(dirname(path), file)) : undefined
  }
  const [ca, cert, key, tokenFile] = await Promise.all([
    material(cluster, 'certificate-authority'),
    material(user, 'client-certificate'),
    material(user, 'client-key'),
    typeof user['tokenFile'] === 'string' ? files.readText(resolve(dirname(path), user['tokenFile'])) : undefined,
  ])
  const serverName = cluster['tls-server-name']
  return {
    url: cluster['server'],
    connection: {
      ...defined({ ca, cert, key }),
      ...(typeof serverName === 'string' ? { serverName } : {}),
      ...(cluster['insecure-skip-tls-verify'] === true ? { insecureSkipVerify: true } : {}),
    },
    headers: authorization(user, tokenFile?.trim()),
  }
}

function authorization({ token, username, password }: Entry, tokenFromFile: string | undefined): Record<string, string> {
  const bearer = tokenFromFile ?? (typeof token === 'string' ? token : undefined)
  if (bearer) return { authorization: `Bearer ${bearer}` }
  if (typeof username !== 'string' || typeof password !== 'string') return {}
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}

function asMap(value: unknown, path: string): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error(`${path} is not a kubeconfig`)
  return value as Record<string, unknown>
}

function only(list: unknown): Entry | undefined {
  return Array.isArray(list) && list.length === 1 ? (list[0] as Entry) : undefined
}

function named(list: unknown, name: unknown, field: string, path: string): Entry | undefined {
  if (!Array.isArray(list) || name === undefined || name === '') return undefined
  const entry = (list as Entry[]).find((item) => item.name === name)
  if (entry === undefined) throw new Error(`${path}: there is no ${field} ${JSON.stringify(name)}`)
  return (entry[field] ?? {}) as Entry
}
