/** The files that tell clients which clusters there are, and as whom to speak to them. */

import { dirname, isAbsolute, join } from 'node:path'
import { jsYaml } from '#api/codec/js-yaml.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type KubeconfigCluster = {
  server: string
  /** PEM. Absent: the system's authorities. */
  authority?: string
  serverName?: string
  skipsVerification: boolean
  /** The proxy that leads there. */
  proxyUrl?: string
}

export type ExecPlugin = {
  apiVersion: string
  command: string
  args: readonly string[]
  environment: Readonly<Record<string, string>>
  /** Tells the plugin which cluster it is for. */
  providesClusterInfo: boolean
  installHint: string
  /** Whether it may ask the person at the terminal; where there is none, `Always` fails. */
  interactiveMode: 'Never' | 'IfAvailable' | 'Always'
}

/** A provider that clients know themselves: `oidc`. */
export type AuthProvider = { name: string; config: Readonly<Record<string, string>> /** PEM. */; authority?: string }

export type KubeconfigUser = {
  certificate?: string
  key?: string
  token?: string
  tokenFile?: string
  username?: string
  password?: string
  exec?: ExecPlugin
  authProvider?: AuthProvider
  impersonate?: { user: string; uid: string; groups: readonly string[]; extra: Readonly<Record<string, readonly string[]>> }
}

export type KubeconfigContext = { name: string; namespace: string; cluster: KubeconfigCluster; user: KubeconfigUser }

type Json = { [key: string]: unknown }
type RawConfig = { clusters?: Json[] | null; users?: Json[] | null; contexts?: Json[] | null; 'current-context'?: string }
type Source = { directory: string; raw: RawConfig }

/** Of several files the first that has an entry of a name is believed. */
export class Kubeconfig {
  readonly #files: Files
  readonly #sources: readonly Source[]

  private constructor(files: Files, sources: readonly Source[]) {
    this.#files = files
    this.#sources = sources
  }

  static async read(files: Files, path: string): Promise<Kubeconfig> {
    return new Kubeconfig(files, [sourceOf(path, await files.readText(path))])
  }

  /** Those of the files that exist; undefined when none does. */
  static async readPresent(files: Files, paths: readonly string[]): Promise<Kubeconfig | undefined> {
    const sources: Source[] = []
    for (const path of paths) {
      const content = await files.readTextIfPresent(path)
      if (content !== undefined && content.trim() !== '') sources.push(sourceOf(path, content))
    }
    return sources.length === 0 ? undefined : new Kubeconfig(files, sources)
  }

  get currentContext(): string {
    return this.#sources.map(({ raw }) => text(raw['current-context'])).find((name) => name !== '') ?? ''
  }
  get contexts(): string[] {
    return this.#names('context')
  }

  /** With everything that lies in other files read; paths are relative to the kubeconfig's own. */
  async context(name = this.currentContext): Promise<KubeconfigContext> {
    if (name === '') throw new Error('the kubeconfig names no current context; choose one')
    const { value: context } = this.#entry('context', name)
    const cluster = this.#entry('cluster', text(context['cluster']))
    const user = text(context['user']) === '' ? { value: {}, directory: '' } : this.#entry('user', text(context['user']))
    return {
      name,
      namespace: text(context['namespace']),
      cluster: await readCluster(this.#files, cluster),
      user: await readUser(this.#files, user),
    }
  }

  /** For files that tell of one service: where no context is named, the only one there is, or the only cluster and user. */
  async currentOrOnly(): Promise<KubeconfigContext> {
    const name = this.currentContext || this.#only('context')
    if (name !== undefined) return this.context(name)
    const [cluster, user] = [this.#only('cluster'), this.#only('user')]
    if (cluster === undefined) throw new Error('there is no cluster with a server to ask')
    return {
      ...{ name: '', namespace: '', cluster: await readCluster(this.#files, this.#entry('cluster', cluster)) },
      user: user === undefined ? {} : await readUser(this.#files, this.#entry('user', user)),
    }
  }

  get users(): string[] {
    return this.#names('user')
  }

  user(name: string): Promise<KubeconfigUser> {
    return readUser(this.#files, this.#entry('user', name))
  }

  /** Of the current context; undefined where there is none, or it names nobody. */
  async currentUser(): Promise<KubeconfigUser | undefined> {
    const { currentContext } = this
    if (!this.contexts.includes(currentContext)) return undefined
    const user = text(this.#entry('context', currentContext).value['user'])
    return this.users.includes(user) ? this.user(user) : undefined
  }

  #names(kind: 'context' | 'cluster' | 'user'): string[] {
    return [...new Set(this.#sources.flatMap(({ raw }) => (raw[`${kind}s`] ?? []).map(({ name }) => String(name))))]
  }

  #only(kind: 'context' | 'cluster' | 'user'): string | undefined {
    const names = this.#names(kind)
    return names.length === 1 ? names[0] : undefined
  }

  #entry(kind: 'context' | 'cluster' | 'user', name: string): Entry {
    for (const { raw, directory } of this.#sources) {
      const found = raw[`${kind}s`]?.find((each) => each['name'] === name)
      if (found !== undefined) return { value: (found[kind] as Json | null | undefined) ?? {}, directory }
    }
    throw new Error(`${kind} "${name}" does not exist in the kubeconfig`)
  }
}

type Entry = { value: Json; directory: string }

/** A cluster as it is written in a kubeconfig of this directory, with the files it speaks of read. */
export async function readCluster(files: Files, { value, directory }: Entry): Promise<KubeconfigCluster> {
  const authority = await readPem(files, value, 'certificate-authority', directory)
  const serverName = text(value['tls-server-name'])
  const proxyUrl = text(value['proxy-url'])
  return {
    server: text(value['server']),
    skipsVerification: value['insecure-skip-tls-verify'] === true,
    ...defined({ authority }),
    ...omitEmpty({ serverName, proxyUrl }),
  }
}

/** The same of a user. */
export async function readUser(files: Files, { value, directory }: Entry): Promise<KubeconfigUser> {
  const certificate = await readPem(files, value, 'client-certificate', directory)
  const key = await readPem(files, value, 'client-key', directory)
  const user: KubeconfigUser = defined({ certificate, key })
  for (const field of ['token', 'username', 'password'] as const) if (text(value[field]) !== '') user[field] = text(value[field])
  if (text(value['tokenFile']) !== '') user.tokenFile = pathIn(directory, text(value['tokenFile']))
  if (value['auth-provider']) user.authProvider = await authProvider(files, value['auth-provider'] as Json, directory)
  if (value['exec']) user.exec = execPlugin(value['exec'] as Json, directory)
  if (text(value['as']) !== '') {
    user.impersonate = {
      user: text(value['as']),
      uid: text(value['as-uid']),
      groups: (value['as-groups'] as string[] | undefined) ?? [],
      extra: (value['as-user-extra'] as Record<string, string[]> | undefined) ?? {},
    }
  }
  return user
}

async function readPem(files: Files, value: Json, name: string, directory: string): Promise<string | undefined> {
  const data = text(value[`${name}-data`])
  if (data !== '') return Buffer.from(data, 'base64').toString()
  const path = text(value[name])
  return path === '' ? undefined : files.readText(pathIn(directory, path))
}

function sourceOf(path: string, content: string): Source {
  const raw: unknown = jsYaml().load(content)
  if (raw === null || typeof raw !== 'object' || Array.isArray(raw)) throw new Error(`${path} is no kubeconfig`)
  return { directory: dirname(path), raw: raw as RawConfig }
}

async function authProvider(files: Files, raw: Json, directory: string): Promise<AuthProvider> {
  const config = (raw['config'] ?? {}) as Record<string, string>
  const authority = await readPem(files, config, 'idp-certificate-authority', directory)
  return { name: text(raw['name']), config, ...defined({ authority }) }
}

const interactiveModes = ['Never', 'IfAvailable', 'Always'] as const

function execPlugin(raw: Json, directory: string): ExecPlugin {
  const command = text(raw['command'])
  const env = (raw['env'] as { name: string; value: string }[] | null | undefined) ?? []
  return {
    apiVersion: text(raw['apiVersion']),
    // A bare name is looked up on the path; one with a slash is relative to the kubeconfig.
    command: command.includes('/') ? pathIn(directory, command) : command,
    args: (raw['args'] as string[] | null | undefined) ?? [],
    environment: Object.fromEntries(env.map(({ name, value }) => [name, value])),
    providesClusterInfo: raw['provideClusterInfo'] === true,
    installHint: text(raw['installHint']),
    interactiveMode: interactiveModes.find((mode) => mode === raw['interactiveMode']) ?? 'IfAvailable',
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const pathIn = (directory: string, path: string): string => (isAbsolute(path) ? path : join(directory, path))
