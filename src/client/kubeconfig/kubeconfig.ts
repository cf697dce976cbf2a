/** The file that tells clients which clusters there are, and as whom to speak to them. */
import { dirname, isAbsolute, join } from 'node:path'
import { load } from 'js-yaml'
import type { Files } from '#base/files.ts'

export type KubeconfigCluster = {
  server: string
  /** PEM. Absent: the system's authorities. */
  authority?: string
  serverName?: string
  skipsVerification: boolean
}

export type ExecPlugin = {
  apiVersion: string
  command: string
  args: readonly string[]
  environment: Readonly<Record<string, string>>
  /** Tells the plugin which cluster it is for. */
  providesClusterInfo: boolean
  installHint: string
}

export type KubeconfigUser = {
  certificate?: string
  key?: string
  token?: string
  tokenFile?: string
  username?: string
  password?: string
  exec?: ExecPlugin
  impersonate?: { user: string; uid: string; groups: readonly string[]; extra: Readonly<Record<string, readonly string[]>> }
}

export type KubeconfigContext = { name: string; namespace: string; cluster: KubeconfigCluster; user: KubeconfigUser }

type Json = { [key: string]: unknown }
type RawConfig = { clusters?: Json[]; users?: Json[]; contexts?: Json[]; 'current-context'?: string }

export class Kubeconfig {
  readonly #files: Files
  readonly #directory: string
  readonly #raw: RawConfig

  private constructor(files: Files, path: string, raw: RawConfig) {
    this.#files = files
    this.#directory = dirname(path)
    this.#raw = raw
  }

  static async read(files: Files, path: string): Promise<Kubeconfig> {
    const raw: unknown = load(await files.readText(path))
    if (raw === null || typeof raw !== 'object') throw new Error(`${path} is no kubeconfig`)
    return new Kubeconfig(files, path, raw as RawConfig)
  }

  get currentContext(): string {
    return this.#raw['current-context'] ?? ''
  }
  get contexts(): string[] {
    return (this.#raw.contexts ?? []).map(({ name }) => String(name))
  }

  /** With everything that lies in other files read; paths are relative to the kubeconfig's own. */
  async context(name = this.currentContext): Promise<KubeconfigContext> {
    if (name === '') throw new Error('the kubeconfig names no current context; choose one')
    const context = entry(this.#raw.contexts, name, 'context')
    const cluster = entry(this.#raw.clusters, text(context['cluster']), 'cluster')
    const user = text(context['user']) === '' ? {} : entry(this.#raw.users, text(context['user']), 'user')
    return { name, namespace: text(context['namespace']), cluster: await this.#cluster(cluster), user: await this.#user(user) }
  }

  async #cluster(raw: Json): Promise<KubeconfigCluster> {
    const authority = await this.#pem(raw, 'certificate-authority')
    const serverName = text(raw['tls-server-name'])
    return {
      server: text(raw['server']),
      skipsVerification: raw['insecure-skip-tls-verify'] === true,
      ...(authority === undefined ? {} : { authority }),
      ...(serverName === '' ? {} : { serverName }),
    }
  }

  async #user(raw: Json): Promise<KubeconfigUser> {
    const certificate = await this.#pem(raw, 'client-certificate')
    const key = await this.#pem(raw, 'client-key')
    const user: KubeconfigUser = { ...(certificate === undefined ? {} : { certificate }), ...(key === undefined ? {} : { key }) }
    for (const field of ['token', 'username', 'password'] as const) if (text(raw[field]) !== '') user[field] = text(raw[field])
    if (text(raw['tokenFile']) !== '') user.tokenFile = this.#path(text(raw['tokenFile']))
    if (raw['exec']) user.exec = this.#exec(raw['exec'] as Json)
    if (text(raw['as']) !== '') {
      user.impersonate = {
        user: text(raw['as']),
        uid: text(raw['as-uid']),
        groups: (raw['as-groups'] as string[] | undefined) ?? [],
        extra: (raw['as-user-extra'] as Record<string, string[]> | undefined) ?? {},
      }
    }
    return user
  }

  #exec(raw: Json): ExecPlugin {
    const command = text(raw['command'])
    const env = (raw['env'] as { name: string; value: string }[] | null | undefined) ?? []
    return {
      apiVersion: text(raw['apiVersion']),
      // A bare name is looked up on the path; one with a slash is relative to the kubeconfig.
      command: command.includes('/') ? this.#path(command) : command,
      args: (raw['args'] as string[] | null | undefined) ?? [],
      environment: Object.fromEntries(env.map(({ name, value }) => [name, value])),
      providesClusterInfo: raw['provideClusterInfo'] === true,
      installHint: text(raw['installHint']),
    }
  }

  async #pem(raw: Json, name: string): Promise<string | undefined> {
    const data = text(raw[`${name}-data`])
    if (data !== '') return Buffer.from(data, 'base64').toString()
    const path = text(raw[name])
    return path === '' ? undefined : this.#files.readText(this.#path(path))
  }

  #path(path: string): string {
    return isAbsolute(path) ? path : join(this.#directory, path)
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

function entry(list: readonly Json[] | undefined, name: string, kind: string): Json {
  const found = list?.find((each) => each['name'] === name)
  if (found === undefined) throw new Error(`${kind} "${name}" does not exist in the kubeconfig`)
  return (found[kind] as Json | undefined) ?? {}
}
