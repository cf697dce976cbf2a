/** Which server to talk to and as whom: the kubeconfig, overruled by flags. */

import { CliError, PlainError } from '#cli/cli-error.ts'
import type { Flags } from '#cli/flags/flags.ts'
import type { Host } from '#cli/host.ts'
import { inClusterContext } from '#client/kubeconfig/connect.ts'
import { type KubeconfigContext, readCluster, readUser } from '#client/kubeconfig/kubeconfig.ts'
import { directoryOf, readMergedConfig } from './kubeconfig-files.ts'

export type ResolvedContext = KubeconfigContext & {
  /** Said with a flag, not by the kubeconfig. */
  isNamespaceGiven: boolean
}

const clusterFlags = { server: 'server', 'certificate-authority': 'certificate-authority', 'tls-server-name': 'tls-server-name' } as const
const userFlags = {
  token: 'token',
  username: 'username',
  password: 'password',
  'client-certificate': 'client-certificate',
  'client-key': 'client-key',
  as: 'as',
  'as-uid': 'as-uid',
} as const

export async function resolveContext(flags: Flags, host: Host): Promise<ResolvedContext> {
  const config = await readMergedConfig(flags, host)
  const contextName = flags.text('context') || config.currentContext
  const found = config.contexts.get(contextName)
  if (found === undefined && flags.text('context') !== '') {
    if (flags.isSet('namespace')) throw new CliError(`context "${contextName}" does not exist`)
    throw new PlainError(`Error in configuration: context was not found for specified context: ${contextName}`)
  }
  const context = found?.value ?? {}
  const clusterName = flags.text('cluster') || String(context['cluster'] ?? '')
  const userName = flags.text('user') || String(context['user'] ?? '')
  const clusterEntry = config.clusters.get(clusterName)
  const userEntry = config.users.get(userName)
  if (flags.text('cluster') !== '' && clusterEntry === undefined) throw new CliError(`no server found for cluster "${clusterName}"`)
  if (flags.text('user') !== '' && userEntry === undefined) throw new CliError(`auth info "${userName}" does not exist`)

  const cluster: Record<string, unknown> = { ...clusterEntry?.value }
  const user: Record<string, unknown> = { ...userEntry?.value }
  override(cluster, clusterFlags, flags)
  if (flags.isSet('certificate-authority')) delete cluster['certificate-authority-data']
  if (flags.isSet('insecure-skip-tls-verify')) cluster['insecure-skip-tls-verify'] = flags.isOn('insecure-skip-tls-verify')
  if (flags.isOn('insecure-skip-tls-verify'))
    for (const field of ['certificate-authority', 'certificate-authority-data']) delete cluster[field]
  if (flags.isSet('token')) for (const field of ['tokenFile', 'exec', 'username', 'password']) delete user[field]
  if (flags.isSet('client-certificate')) delete user['client-certificate-data']
  if (flags.isSet('client-key')) delete user['client-key-data']
  override(user, userFlags, flags)
  if (flags.isSet('as-group')) user['as-groups'] = flags.list('as-group')
  if (flags.isSet('as-user-extra')) user['as-user-extra'] = extras(flags.list('as-user-extra'))
  if (user['as'] === undefined && (flags.isSet('as-group') || flags.isSet('as-uid') || flags.isSet('as-user-extra')))
    throw new CliError('requesting uid, groups or user-extra for without impersonating a user')

  const given = flags.text('namespace')
  const namespace = given || String(context['namespace'] ?? '') || 'default'
  if (!cluster['server']) {
    const inside = config.paths.length === 0 ? await inClusterContext(host.environment, host.files) : undefined
    if (inside !== undefined) return { ...inside, namespace: given || inside.namespace || 'default', isNamespaceGiven: given !== '' }
    cluster['server'] = 'http://localhost:8080'
  }
  const [clusterDirectory, userDirectory] = [
    clusterEntry === undefined ? '' : directoryOf(clusterEntry),
    userEntry === undefined ? '' : directoryOf(userEntry),
  ]
  const read = async <T>(part: Promise<T>): Promise<T> => {
    try {
      return await part
    } catch (error) {
      throw new CliError(fileErrorText(error))
    }
  }
  return {
    name: contextName,
    namespace,
    isNamespaceGiven: given !== '',
    cluster: {
      ...(await read(readCluster(host.files, { value: cluster, directory: clusterDirectory }))),
      ...environmentProxy(cluster, host),
    },
    user: await read(readUser(host.files, { value: user, directory: userDirectory })),
  }
}

/** In Go's words. */
export function fileErrorText(error: unknown): string {
  const { code, path, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return `open ${path}: no such file or directory`
  if (code === 'EACCES') return `open ${path}: permission denied`
  if (code === 'EISDIR') return `read ${path}: is a directory`
  return message
}

function override(target: Record<string, unknown>, fields: Readonly<Record<string, string>>, flags: Flags): void {
  for (const [flag, field] of Object.entries(fields)) if (flags.isSet(flag) && flags.text(flag) !== '') target[field] = flags.text(flag)
  // A server without a scheme is one without TLS.
  const server = target['server']
  if ('server' in fields && typeof server === 'string' && server !== '' && !server.includes('://')) target['server'] = `http://${server}`
}

function extras(pairs: readonly string[]): Record<string, string[]> {
  const result: Record<string, string[]> = {}
  for (const pair of pairs) {
    const [key = '', value] = splitAt(pair, '=')
    if (value === undefined) throw new CliError(`malformed --as-user-extra ${pair}, the expected format is key=value`)
    result[key] = [...(result[key] ?? []), value]
  }
  return result
}

export function splitAt(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)]
}

/** What the environment says of proxies, unless the kubeconfig names one. */
function environmentProxy(cluster: Record<string, unknown>, { environment }: Host): { proxyUrl?: string } {
  if (cluster['proxy-url']) return {}
  const { protocol, hostname } = new URL(String(cluster['server']))
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const proxyUrl = environment[name] || environment[name.toLowerCase()]
  const exceptions = (environment['NO_PROXY'] || environment['no_proxy'] || '').split(',').map((each) => each.trim())
  const isLocal = hostname === 'localhost' || hostname.startsWith('127.') || hostname === '[::1]'
  const isException = exceptions.some(
    (each) => each !== '' && (each === '*' || hostname === each || hostname.endsWith(each.startsWith('.') ? each : `.${each}`)),
  )
  return proxyUrl && !isLocal && !isException ? { proxyUrl } : {}
}
