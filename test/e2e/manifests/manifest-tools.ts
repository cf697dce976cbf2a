/** What the checks of manifests say to a cluster: kubectl, with clear failures. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { loadAll } from 'js-yaml'
import type { Kubectl } from '../../support/kubectl.ts'

export const directory = join(import.meta.dirname, '..', '..', 'manifests')

export type Manifest = { apiVersion: string; kind: string; metadata: { name: string; namespace?: string } }
// biome-ignore lint/suspicious/noExplicitAny: checks look at whatever field a row speaks of, and fail where it is not there.
export type Seen = any

export function manifestsOf(file: string): Manifest[] {
  return loadAll(readFileSync(join(directory, file), 'utf8')).filter((document) => document !== null) as Manifest[]
}

export class ManifestTools {
  readonly #client: Kubectl

  constructor(client: Kubectl) {
    this.#client = client
  }

  /** From where tests are run: the repository may lie in a directory with spaces, at which commands are split. */
  path(file: string): string {
    return relative(process.cwd(), join(directory, file))
  }

  /** What a command prints; fails where it does. Words are split at spaces. */
  ok(command: string, input?: string): string {
    return this.run(command.split(' '), input).stdout.trim()
  }

  run(args: readonly string[], input?: string): { stdout: string; stderr: string } {
    const { exitCode, stdout, stderr } = this.#client.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}\n${stdout}${stderr}`)
    return { stdout, stderr }
  }

  /** A command that may come too late. */
  attempt(args: readonly string[]): void {
    this.#client.run(args)
  }

  /** What a command that must fail says. */
  refused(args: readonly string[], input?: string): string {
    const { exitCode, stdout, stderr } = this.#client.run(args, input === undefined ? {} : { input })
    assert.notEqual(exitCode, 0, `kubectl ${args.join(' ')} was to be refused\n${stdout}`)
    return stderr
  }

  get(what: string): Seen {
    return JSON.parse(this.ok(`get ${what} -o json`))
  }

  exists(what: string): boolean {
    return this.#client.run(['get', ...what.split(' ')]).exitCode === 0
  }

  wait(condition: string, what: string): void {
    this.ok(`wait --for=${condition} ${what} --timeout=60s`)
  }

  /** Whether a user may, in a namespace. */
  mayDo(user: string, verb: string, resource: string, namespace: string): boolean {
    return this.#client.run(['auth', 'can-i', verb, resource, '--as', user, '-n', namespace]).exitCode === 0
  }
}
