/** One kubectl, in a namespace of its own, whose every command is checked: how it ends, and that it warns of nothing. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { dump } from 'js-yaml'
import { type Kubectl, kubectl } from '../../support/kubectl.ts'

/** A part of what kubectl does. `isCore` parts run with every version, the others with the oldest and the newest. */
export type Chapter = { name: string; isCore: boolean; run(session: Session): void | Promise<void> }

export type CommandOptions = {
  /** For standard input. */
  input?: string
  environment?: Record<string, string>
  /** What may be on standard error, in full or as a pattern; nothing, unless said. */
  stderr?: string | RegExp
}

export class Session {
  readonly version: string
  readonly minor: number
  readonly namespace: string
  /** Of the versions on this machine. */
  readonly isNewest: boolean
  readonly directory = mkdtempSync(join(tmpdir(), 'tn kubectl '))
  readonly #kubectl: Kubectl
  readonly #path: string
  readonly #kubeconfig: string

  constructor(path: string, version: string, kubeconfig: string, isNewest: boolean) {
    this.version = version
    this.isNewest = isNewest
    this.minor = Number(version.split('.')[1])
    this.namespace = `with-${version.replace('.', '-')}`
    this.#path = path
    this.#kubeconfig = kubeconfig
    this.#kubectl = kubectl(path, version, kubeconfig)
  }

  /** Runs a command that must succeed, and gives what it printed. */
  ok(command: string | readonly string[], { stderr = '', ...options }: CommandOptions = {}): string {
    const result = this.#run(command, options)
    const shown = `kubectl ${this.version} ${this.#args(command).join(' ')}\n${result.stdout}\n${result.stderr}`
    assert.equal(result.exitCode, 0, `ended with ${result.exitCode}: ${shown}`)
    if (stderr instanceof RegExp) assert.match(result.stderr, stderr, shown)
    else assert.equal(result.stderr, stderr, shown)
    return result.stdout
  }

  /** Runs a command that must print this, as a whole or as a pattern. */
  prints(command: string | readonly string[], expected: string | RegExp, options: CommandOptions = {}): void {
    const stdout = this.ok(command, options)
    if (expected instanceof RegExp) assert.match(stdout, expected, `kubectl ${this.version} ${this.#args(command).join(' ')}`)
    else assert.equal(stdout.trimEnd(), expected, `kubectl ${this.version} ${this.#args(command).join(' ')}`)
  }

  /** Runs a command that must fail, saying this. */
  fails(
    command: string | readonly string[],
    stderr: RegExp,
    { exitCode = 1, ...options }: CommandOptions & { exitCode?: number } = {},
  ): string {
    const result = this.#run(command, options)
    const shown = `kubectl ${this.version} ${this.#args(command).join(' ')}\n${result.stdout}\n${result.stderr}`
    assert.equal(result.exitCode, exitCode, shown)
    assert.match(result.stderr, stderr, shown)
    return result.stdout
  }

  json<T>(command: string): T {
    return JSON.parse(this.ok(`${command} -o json`)) as T
  }

  /** A manifest in a file; several objects make several documents. */
  file(name: string, ...objects: object[]): string {
    const path = join(this.directory, name)
    writeFileSync(path, objects.map((object) => dump(object)).join('---\n'))
    return path
  }

  /** A certificate and its key, as a secret for TLS takes them. */
  keyPair(): { certificate: string; key: string } {
    const directory = join(dirname(this.#kubeconfig), 'pki')
    return { certificate: join(directory, 'ca.crt'), key: join(directory, 'ca.key') }
  }

  /** An editor that runs this sed script on what it is given. */
  editor(name: string, sed: string): Record<string, string> {
    const path = join(this.directory, name)
    writeFileSync(path, `#!/bin/sh\nexec sed -i -e '${sed}' "$1"\n`)
    chmodSync(path, 0o755)
    return { KUBE_EDITOR: `'${path}'` }
  }

  /** A command that goes on in the background, until `end`; `until` resolves once its output matches. */
  background(command: string): BackgroundCommand {
    const args = ['--kubeconfig', this.#kubeconfig, '--cache-dir', join(this.directory, 'cache'), ...this.#args(command)]
    return new BackgroundCommand(spawn(this.#path, args, { stdio: ['ignore', 'pipe', 'pipe'] }), `kubectl ${this.version} ${command}`)
  }

  #run(command: string | readonly string[], options: Omit<CommandOptions, 'stderr'>) {
    return this.#kubectl.run(this.#args(command), options)
  }

  /** Words of a string are arguments; what holds spaces comes as a list. */
  #args(command: string | readonly string[]): string[] {
    const args = typeof command === 'string' ? command.split(' ') : [...command]
    return args.some((arg) => arg === '-A' || arg === '-n' || arg === '--all-namespaces') ? args : ['-n', this.namespace, ...args]
  }
}

export class BackgroundCommand {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #ended: Promise<number | null>
  #output = ''
  #changed: () => void = () => {}

  constructor(child: ChildProcess, name: string) {
    this.#child = child
    this.#name = name
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: Buffer) => {
        this.#output += text
        this.#changed()
      })
    }
    this.#ended = new Promise((resolve) => child.on('close', (code) => resolve(code)))
  }

  hasSaid(pattern: RegExp): boolean {
    return pattern.test(this.#output)
  }

  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#output)) {
      const ended = await Promise.race([
        this.#ended.then(() => true),
        new Promise<false>((resolve) => {
          this.#changed = () => resolve(false)
        }),
      ])
      if (ended && !pattern.test(this.#output)) assert.match(this.#output, pattern, `${this.#name} ended`)
    }
    return this.#output
  }

  /** Its exit code, once it ends by itself. */
  ended(): Promise<number | null> {
    return this.#ended
  }

  async end(): Promise<string> {
    this.#child.kill('SIGTERM')
    await this.#ended
    return this.#output
  }
}
