/** Resources from elsewhere: manifests behind a URL, and kustomizations in Git repositories. */
import { join } from 'node:path'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'

export type RepositoryPlace = { clone: string; path: string; ref: string; withSubmodules: boolean }

/** `github.com/org/repo//path?ref=v1`, `https://host/repo.git//path`, `git@host:repo`, `ssh://…`, `file:///repo//path`; undefined for paths. */
export function repositoryPlace(text: string): RepositoryPlace | undefined {
  const [address = '', queryText = ''] = text.replace(/^git::/, '').split('?')
  const query = new URLSearchParams(queryText)
  const match =
    /^(?<scheme>https?:\/\/|ssh:\/\/|file:\/\/)(?<rest>.+)$/.exec(address) ??
    /^(?<scheme>[\w.-]+@[\w.-]+:)(?<rest>.+)$/.exec(address) ??
    /^(?<scheme>)(?<rest>(?:github\.com|gitlab\.com|bitbucket\.org)[/:].+)$/i.exec(address)
  if (match?.groups === undefined) return undefined
  const { scheme = '', rest = '' } = match.groups
  const [repository, path] = split(rest.replace(':', scheme === '' ? '/' : ':'), scheme)
  return {
    clone: `${scheme === '' ? 'https://' : scheme}${repository}`,
    path,
    ref: query.get('ref') ?? query.get('version') ?? '',
    withSubmodules: query.get('submodules') !== 'false',
  }
}

/** Two slashes end the repository, else `.git` does, else the second name after the host. */
function split(rest: string, scheme: string): [repository: string, path: string] {
  const slashes = rest.indexOf('//', scheme === 'file://' ? 1 : 0)
  if (slashes >= 0) return [rest.slice(0, slashes), rest.slice(slashes + 2)]
  const git = rest.search(/\.git(?:\/|$)/)
  if (git >= 0) return [rest.slice(0, git + 4), rest.slice(git + 5)]
  if (scheme === 'file://') return [rest, '']
  const parts = rest.split('/')
  const names = scheme.endsWith(':') ? 2 : 3
  return [parts.slice(0, names).join('/'), parts.slice(names).join('/')]
}

/** A directory with the repository's content at the ref; to be removed by the caller. */
export async function clonedRepository(host: Host, { clone, ref, withSubmodules }: RepositoryPlace): Promise<string> {
  const directory = await host.files.temporaryDirectory('kustomize-')
  const git = async (...args: string[]) => {
    const { exitCode, stderr } = await host.processes.run('git', ['-C', directory, ...args]).catch(() => ({
      exitCode: 127,
      stderr: 'no \'git\' program on path: exec: "git": executable file not found in $PATH',
    }))
    if (exitCode !== 0) throw new CliError(`failed to run '/usr/bin/git ${args.join(' ')}': ${stderr.trim()}\n: exit status ${exitCode}`)
  }
  try {
    await git('init')
    await git('remote', 'add', 'origin', clone)
    await git('fetch', '--depth=1', clone, ref === '' ? 'HEAD' : ref)
    await git('checkout', 'FETCH_HEAD')
    if (withSubmodules) await git('submodule', 'update', '--init', '--recursive')
    return directory
  } catch (error) {
    await host.files.remove(directory)
    throw error
  }
}

export const insideOf = (directory: string, { path }: RepositoryPlace): string => join(directory, path)

/** What a plain GET of the address gives; undefined where that is no manifest. */
export async function fetchedManifest(host: Host, url: string): Promise<string | undefined> {
  using http = host.http({})
  try {
    for (let at = url, hops = 0; hops < 10; hops++) {
      const answer = await http.request({ url: at })
      const { location } = answer.headers
      if (answer.status >= 300 && answer.status < 400 && location !== undefined) at = new URL(location, at).href
      else if (answer.status === 200 && !/text\/html/.test(answer.headers['content-type'] ?? '')) return await answer.text(64 << 20)
      else return undefined
    }
  } catch {
    // Nobody answers there; Git may know better.
  }
  return undefined
}
