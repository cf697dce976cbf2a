import { dirname, resolve } from 'node:path'
import { jsYaml } from '#api/codec/js-yaml.ts'
import type { KeyPair } from '#apiserver/pki/authority.ts'
import { type Files, hasCode } from '#base/files.ts'

/** A way to a cluster, as it goes into a kubeconfig: one cluster, one user, one context. */
export type KubeconfigEntry = {
  /** Of the context, and of the cluster and user it joins. */
  name: string
  server: string
  authorityPem: string
  credential: KeyPair | { token: string }
  namespace?: string
}

/** A whole kubeconfig. JSON strings are YAML strings. */
export function renderKubeconfig(entry: KubeconfigEntry): string {
  const { name, server, authorityPem, credential, namespace } = entry
  const user =
    'token' in credential
      ? [`    token: ${quoted(credential.token)}`]
      : [`    client-certificate-data: ${base64(credential.certificatePem)}`, `    client-key-data: ${base64(credential.privateKeyPem)}`]
  return [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    `- name: ${quoted(name)}`,
    '  cluster:',
    `    certificate-authority-data: ${base64(authorityPem)}`,
    `    server: ${quoted(server)}`,
    'users:',
    `- name: ${quoted(name)}`,
    '  user:',
    ...user,
    'contexts:',
    `- name: ${quoted(name)}`,
    '  context:',
    `    cluster: ${quoted(name)}`,
    `    user: ${quoted(name)}`,
    ...(namespace === undefined ? [] : [`    namespace: ${quoted(namespace)}`]),
    `current-context: ${quoted(name)}`,
    '',
  ].join('\n')
}

export async function writeKubeconfig(files: Files, path: string, entry: KubeconfigEntry): Promise<void> {
  await files.write(path, renderKubeconfig(entry), { mode: 0o600 })
}

type Named = { name?: unknown; [key: string]: unknown }
type Kubeconfig = {
  clusters?: Named[] | null
  users?: Named[] | null
  contexts?: Named[] | null
  'current-context'?: string
  [key: string]: unknown
}

/**
 * The text of a kubeconfig with the entry added, or brought up to date where it is there already (same server, or same authority).
 * Entries of others keep their names: where one has ours, a number is appended to ours. The current context changes only
 * when there is none, or when asked to.
 */
export async function mergedKubeconfig(
  existing: string | undefined,
  entry: KubeconfigEntry,
  options: { makeCurrent?: boolean } = {},
): Promise<{ text: string; contextName: string }> {
  const yaml = jsYaml()
  const loaded: unknown = existing?.trim() ? yaml.load(existing) : {}
  if (loaded === null || typeof loaded !== 'object' || Array.isArray(loaded)) throw new Error('the kubeconfig to merge into is not a map')
  const config = loaded as Kubeconfig
  const name = freeName(config, entry)
  const added = yaml.load(renderKubeconfig({ ...entry, name })) as Kubeconfig
  const merged: Kubeconfig = { apiVersion: 'v1', kind: 'Config', ...config }
  for (const list of ['clusters', 'users', 'contexts'] as const) merged[list] = replaced(config[list] ?? [], name, added[list]?.[0])
  if (options.makeCurrent || !config['current-context']) merged['current-context'] = name
  return { text: yaml.dump(merged, { lineWidth: -1 }), contextName: name }
}

/** Merges into the file, which is locked as kubectl does it and replaced as a whole; a link stays a link. */
export async function mergeKubeconfig(
  files: Files,
  path: string,
  entry: KubeconfigEntry,
  options: { makeCurrent?: boolean } = {},
): Promise<string> {
  const { text: _, contextName } = await rewritten(files, path, (existing) => mergedKubeconfig(existing, entry, options))
  return contextName
}

/** Takes the entries of a server out of the file again; resolves with the names of its contexts. */
export async function removeFromKubeconfig(files: Files, path: string, server: string): Promise<string[]> {
  if ((await files.readTextIfPresent(path)) === undefined) return []
  const { names } = await rewritten(files, path, (existing) => kubeconfigWithout(existing ?? '', server))
  return names
}

export async function kubeconfigWithout(existing: string, server: string): Promise<{ text: string; names: string[] }> {
  const yaml = jsYaml()
  const loaded: unknown = yaml.load(existing)
  if (loaded === null || typeof loaded !== 'object' || Array.isArray(loaded)) return { text: existing, names: [] }
  const config = { ...(loaded as Kubeconfig) }
  const clusters = new Set(
    (config.clusters ?? []).filter(({ cluster }) => (cluster as { server?: unknown })?.server === server).map(({ name }) => name),
  )
  if (clusters.size === 0) return { text: existing, names: [] }
  type Joined = { cluster?: unknown; user?: unknown }
  const isOurs = ({ context }: Named) => clusters.has((context as Joined)?.cluster)
  const ours = (config.contexts ?? []).filter(isOurs)
  const left = (config.contexts ?? []).filter((each) => !isOurs(each))
  const usersLeft = new Set(left.map(({ context }) => (context as Joined)?.user))
  const users = new Set(ours.map(({ context }) => (context as Joined)?.user).filter((user) => !usersLeft.has(user)))
  config.contexts = left
  config.clusters = (config.clusters ?? []).filter(({ name }) => !clusters.has(name))
  config.users = (config.users ?? []).filter(({ name }) => !users.has(name))
  const names = ours.map(({ name }) => String(name))
  if (names.includes(config['current-context'] ?? '')) config['current-context'] = ''
  return { text: yaml.dump(config, { lineWidth: -1 }), names }
}

async function rewritten<T extends { text: string }>(
  files: Files,
  path: string,
  change: (existing: string | undefined) => Promise<T>,
): Promise<T> {
  const target = await files.readLink(path).catch((error: unknown) => {
    if (hasCode(error, 'EINVAL')) return undefined
    throw error
  })
  const file = target === undefined ? path : resolve(dirname(path), target)
  await files.makeDirectory(dirname(file))
  const lock = `${file}.lock`
  if (!(await files.createExclusive(lock, ''))) throw new Error(`${file} is being changed by another program; if it is not, remove ${lock}`)
  try {
    const before = await files.readTextIfPresent(file)
    const outcome = await change(before)
    if (outcome.text !== before) await files.write(file, outcome.text, { mode: 0o600 })
    return outcome
  } finally {
    await files.remove(lock)
  }
}

function freeName(config: Kubeconfig, entry: KubeconfigEntry): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? entry.name : `${entry.name}-${count}`
    const cluster = config.clusters?.find((item) => item.name === name)?.['cluster']
    const isTaken = [config.clusters, config.users, config.contexts].some((list) => list?.some((item) => item.name === name))
    if (!isTaken || (cluster !== undefined && isSameCluster(cluster, entry))) return name
  }
}

function isSameCluster(cluster: unknown, entry: KubeconfigEntry): boolean {
  if (cluster === null || typeof cluster !== 'object') return false
  const { server, 'certificate-authority-data': authority } = cluster as Record<string, unknown>
  return server === entry.server || authority === base64(entry.authorityPem)
}

function replaced(list: Named[], name: string, item: Named | undefined): Named[] {
  if (item === undefined) return list
  return list.some((other) => other.name === name) ? list.map((other) => (other.name === name ? item : other)) : [...list, item]
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const quoted = (text: string): string => JSON.stringify(text)
