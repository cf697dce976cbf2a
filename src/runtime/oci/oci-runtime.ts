/** runc, crun or another OCI runtime for the last step: containers as ours in all but who has made them. */
import { basename, join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { LaunchedProcess, LaunchStream } from '#base/launches.ts'
import type { Processes } from '#base/processes.ts'
import { thisProcessor } from '#base/system-calls.ts'
import { LaunchError, type Launcher } from '#runtime/launch/launcher.ts'
import type { ContainerSpec } from '#runtime/launch/process-spec.ts'
import { ociConfig } from '#runtime/oci/oci-config.ts'
import { ociScript } from '#runtime/oci/oci-script.ts'
import type { RuntimePaths } from '#runtime/runtime-paths.ts'

export type OciRuntimeOptions = { program: string; paths: RuntimePaths; files: Files; processes: Processes; launcher: Launcher }

export type OciLaunch = {
  id: string
  name: string
  cgroup: string
  streams: readonly [LaunchStream, LaunchStream, LaunchStream]
  further: readonly number[]
}

const searchPath = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export class OciRuntime {
  readonly #options: OciRuntimeOptions

  constructor(options: OciRuntimeOptions) {
    this.#options = options
  }

  /** Resolves once the container runs. Fails with `LaunchError` in the program's words. */
  async launch(spec: ContainerSpec, { id, name, cgroup, streams, further }: OciLaunch): Promise<{ pid: number; process: LaunchedProcess }> {
    const { files, launcher, processes, program } = this.#options
    const { bundle, pidFile, log } = this.#place(id)
    await files.makeDirectory(bundle)
    const ownOomScore = Number(await files.readText('/proc/self/oom_score_adj'))
    const config = ociConfig(spec, { cgroup: this.#leavesCgroups ? undefined : cgroup, processor: thisProcessor, ownOomScore })
    await files.write(join(bundle, 'config.json'), JSON.stringify(config), { survivesPowerCut: false })
    const args = [...this.#first(log), 'create', '--bundle', bundle, '--pid-file', pidFile, id]
    const command = { path: program, args, env: [searchPath], entersCgroups: this.#leavesCgroups }
    const script = ociScript(spec, command, launcher.program, launcher.architecture)
    const { process, ended } = await launcher.launch({ script, name, streams, further }, { waitsForEnd: true })
    if ((await ended) !== 0) throw await this.#failure(id, 'create')
    const { exitCode } = await processes.run(program, [...this.#first(log), 'start', id])
    if (exitCode !== 0) {
      const error = await this.#failure(id, 'start')
      await this.forget(id)
      throw error
    }
    return { pid: Number(await files.readText(pidFile)), process }
  }

  /** After its end; does nothing for containers that the program has not made. */
  async forget(id: string): Promise<void> {
    const { files, processes, program } = this.#options
    const { bundle, log } = this.#place(id)
    if ((await files.stat(bundle)) === undefined) return
    await processes.run(program, [...this.#first(log), 'delete', '--force', id])
    await files.remove(bundle)
  }

  #place(id: string) {
    const bundle = join(this.#options.paths.container(id).directory, 'bundle')
    return { bundle, pidFile: join(bundle, 'pid'), log: join(bundle, 'log.json') }
  }

  #first(log: string): string[] {
    const cgroups = this.#leavesCgroups ? ['--cgroup-manager', 'disabled'] : []
    return ['--root', this.#options.paths.oci, '--log', log, '--log-format', 'json', ...cgroups]
  }

  /** crun can leave cgroups to us, and has to on machines with both versions of them. */
  get #leavesCgroups(): boolean {
    return basename(this.#options.program) === 'crun'
  }

  async #failure(id: string, step: string): Promise<LaunchError> {
    const { files, program } = this.#options
    const lines = ((await files.readTextIfPresent(this.#place(id).log)) ?? '').trim().split('\n')
    const message = lines.map(messageIn).findLast((text) => text !== '') ?? ''
    const plain = message.replace(/^runc (create|start) failed: /, '').replace(/^unable to start container process: /, '')
    // crun has the words of the C library, which begin with a capital.
    return new LaunchError(plain.replace('No such file', 'no such file') || `${program} ${step} failed`)
  }
}

function messageIn(line: string): string {
  try {
    const { level = 'error', msg = '' } = JSON.parse(line) as { level?: string; msg?: string }
    return level === 'error' || level === 'fatal' ? msg : ''
  } catch {
    return ''
  }
}
