/** A Docker in memory: its answers have the form of those of a real one (20.10, API 1.41). Its containers do what the test says. */
import { PassThrough } from 'node:stream'
import type { PassedAnswer, PassedRequest, UpgradeClient } from '#base/upgrade-client.ts'
import type { CreateRequest, InspectedContainer } from '#runtime/docker/docker-types.ts'

type FakeContainer = {
  name: string
  request: CreateRequest
  state: InspectedContainer['State']
  createdMs: number
  /** Frames of its log so far, and those who follow it. */
  frames: Buffer[]
  followers: Set<PassThrough>
}
type FakeExec = { containerId: string; cmd: string[]; exitCode: number; pid: number }
/** What a command writes and ends with; `undefined` where it never ends. */
export type CommandResult = { stdout?: string; stderr?: string; exitCode: number } | undefined

const never = '0001-01-01T00:00:00Z'
const imageId = `sha256:${'ab'.repeat(32)}`

export class FakeDocker implements UpgradeClient {
  readonly containers = new Map<string, FakeContainer>()
  readonly requests: string[] = []
  readonly images = new Map([['app:1', imageId]])
  runCommand: (cmd: string[]) => CommandResult = () => ({ exitCode: 0 })
  /** Connections are refused. */
  isAway = false
  /** Requests are taken and never answered. */
  isHung = false
  readonly #execs = new Map<string, FakeExec>()
  readonly #listeners = new Set<PassThrough>()
  #count = 0

  async send(request: PassedRequest): Promise<PassedAnswer> {
    const url = new URL(request.url)
    const path = url.pathname.replace(/^\/v1\.\d+/, '')
    this.requests.push(`${request.method} ${path}${url.search === '' ? '' : `?${decodeURIComponent(url.search.slice(1))}`}`)
    if (this.isAway) throw new Error('connect ENOENT /run/docker.sock')
    if (this.isHung) return new Promise((_, reject) => request.signal?.addEventListener('abort', () => reject(request.signal?.reason)))
    const pieces: Uint8Array[] = []
    for await (const piece of request.body ?? []) pieces.push(piece)
    const body = Buffer.concat(pieces).toString()
    return this.#answer(request, path, url.searchParams, body.startsWith('{') ? (JSON.parse(body) as object) : {})
  }

  /** What a container writes, as Docker keeps it. */
  write(id: string, stream: 1 | 2, time: string, line: string): void {
    const container = this.#get(id)
    const payload = Buffer.from(`${time} ${line}`)
    const head = Buffer.alloc(8)
    head[0] = stream
    head.writeUInt32BE(payload.length, 4)
    const frame = Buffer.concat([head, payload])
    container?.frames.push(frame)
    for (const follower of container?.followers ?? []) follower.write(frame)
  }

  end(id: string, exitCode: number, more: Partial<InspectedContainer['State']> = {}): void {
    const container = this.#get(id)
    if (container === undefined || !container.state.Running) return
    const FinishedAt = '2026-01-02T03:05:00.000000001Z'
    container.state = { ...container.state, Status: 'exited', Running: false, Pid: 0, ExitCode: exitCode, FinishedAt, ...more }
    for (const follower of container.followers) follower.end()
    this.#tell('die', id, container)
  }

  /** Cuts every connection that is open. */
  cut(): void {
    for (const { followers } of this.containers.values()) for (const follower of followers) follower.destroy(new Error('aborted'))
    for (const listener of this.#listeners) listener.destroy(new Error('aborted'))
    this.#listeners.clear()
  }

  [Symbol.dispose](): void {
    this.cut()
  }

  async #answer({ method, signal }: PassedRequest, path: string, query: URLSearchParams, body: object): Promise<PassedAnswer> {
    const [, kind = '', id = '', verb = ''] = path.split('/')
    if (path === '/version') return json(200, { Version: '20.10.24', ApiVersion: '1.41', MinAPIVersion: '1.12' })
    if (path === '/info') return json(200, { ServerVersion: '20.10.24', CgroupDriver: 'cgroupfs', DockerRootDir: '/var/lib/docker' })
    if (path === '/events') return this.#stream(this.#listeners, [], signal)
    if (kind === 'images') return this.#image(id)
    if (kind === 'exec') return this.#exec(id, verb)
    if (path === '/containers/create') return this.#create(query.get('name') ?? '', body as CreateRequest)
    if (path === '/containers/json') return json(200, this.#list(JSON.parse(query.get('filters') ?? '{}') as { label?: string[] }))
    const container = this.#get(id)
    if (container === undefined) return json(404, { message: `No such container: ${id}` })
    const key = this.#key(id)
    if (method === 'DELETE') {
      if (container.state.Running && query.get('force') === null) return json(409, { message: 'You cannot remove a running container' })
      this.end(key, 137)
      this.containers.delete(key)
      this.#tell('destroy', key, container)
      return json(204, undefined)
    }
    switch (verb) {
      case 'json':
        return json(200, inspected(key, container))
      case 'start':
        return this.#start(key, container)
      case 'stop':
        if (!container.state.Running) return json(304, undefined)
        this.end(key, query.get('t') === '0' ? 137 : 0)
        return json(204, undefined)
      case 'update':
        Object.assign(container.request.HostConfig, body)
        return json(200, { Warnings: null })
      case 'logs':
        return this.#stream(container.followers, container.frames, signal, !container.state.Running)
      case 'exec': {
        const exec = `exec-${++this.#count}`
        this.#execs.set(exec, { containerId: key, cmd: (body as { Cmd: string[] }).Cmd, exitCode: 0, pid: 4242 })
        return json(201, { Id: exec })
      }
      default:
        return json(404, { message: 'page not found' })
    }
  }

  #create(name: string, request: CreateRequest): PassedAnswer {
    if (!this.images.has(request.Image) && ![...this.images.values()].includes(request.Image)) {
      return json(404, { message: `No such image: ${request.Image}` })
    }
    const taken = [...this.containers].find(([, container]) => container.name === `/${name}`)?.[0]
    if (taken !== undefined) {
      const message = `Conflict. The container name "/${name}" is already in use by container "${taken}". You have to remove it.`
      return json(409, { message })
    }
    const id = (++this.#count).toString(16).padStart(64, '0')
    const state = {
      Status: 'created',
      Running: false,
      OOMKilled: false,
      Pid: 0,
      ExitCode: 0,
      Error: '',
      StartedAt: never,
      FinishedAt: never,
    }
    const container = {
      name: `/${name}`,
      request,
      state,
      createdMs: 1_767_323_000_000 + this.#count,
      frames: [],
      followers: new Set<PassThrough>(),
    }
    this.containers.set(id, container)
    this.#tell('create', id, container)
    return json(201, { Id: id, Warnings: [] })
  }

  #start(id: string, container: FakeContainer): PassedAnswer {
    if (container.request.Entrypoint?.[0] === '/no/such') {
      const message = 'failed to create shim task: exec: "/no/such": stat /no/such: no such file or directory: unknown'
      container.state = { ...container.state, ExitCode: 127, Error: message }
      return json(400, { message })
    }
    const StartedAt = '2026-01-02T03:04:05.000000001Z'
    container.state = { ...container.state, Status: 'running', Running: true, Pid: 4000 + this.#count, StartedAt }
    this.#tell('start', id, container)
    return json(204, undefined)
  }

  #image(name: string): PassedAnswer {
    const found = this.images.get(decodeURIComponent(name)) ?? ([...this.images.values()].includes(name) ? name : undefined)
    if (found === undefined) return json(404, { message: `no such image: ${name}: No such image: ${name}` })
    return json(200, { Id: found, RepoTags: ['app:1'], RepoDigests: null, Size: 1_984_259, Config: { User: '1000:1000' } })
  }

  #exec(id: string, verb: string): PassedAnswer {
    const exec = this.#execs.get(id)
    if (exec === undefined) return json(404, { message: `No such exec instance: ${id}` })
    if (verb === 'json') return json(200, { ID: id, Running: exec.exitCode < 0, ExitCode: exec.exitCode, Pid: exec.pid })
    const socket = new PassThrough()
    const result = this.runCommand(exec.cmd)
    const frame = (stream: number, text: string) => {
      const head = Buffer.alloc(8)
      head[0] = stream
      head.writeUInt32BE(Buffer.byteLength(text), 4)
      socket.write(Buffer.concat([head, Buffer.from(text)]))
    }
    exec.exitCode = result?.exitCode ?? -1
    if (result?.exitCode === 126) exec.pid = 0
    if (result?.stdout !== undefined) frame(1, result.stdout)
    if (result?.stderr !== undefined) frame(2, result.stderr)
    if (result !== undefined) socket.end()
    return { ...json(101, undefined), upgraded: { socket, head: Buffer.alloc(0) } }
  }

  #list({ label = [] }: { label?: string[] }): object[] {
    const fits = (labels: Record<string, string>) =>
      label.every((each) => labels[each.slice(0, each.indexOf('='))] === each.slice(each.indexOf('=') + 1))
    return [...this.containers]
      .filter(([, { request }]) => fits(request.Labels))
      .map(([Id, { name, request, state, createdMs }]) => ({
        ...{ Id, Names: [name], Image: request.Image, ImageID: imageId, Labels: request.Labels, State: state.Status },
        Created: Math.floor(createdMs / 1000),
      }))
      .reverse()
  }

  #stream(listeners: Set<PassThrough>, already: readonly Buffer[], signal: AbortSignal | undefined, isOver = false): PassedAnswer {
    const stream = new PassThrough()
    for (const piece of already) stream.write(piece)
    if (isOver) stream.end()
    else listeners.add(stream)
    signal?.addEventListener('abort', () => stream.destroy(new Error('aborted')))
    stream.on('error', () => {})
    return { ...json(200, undefined), body: stream }
  }

  #tell(Action: string, ID: string, { name, request }: FakeContainer): void {
    const Attributes = { ...request.Labels, name: name.slice(1), image: request.Image }
    for (const listener of this.#listeners) listener.write(`${JSON.stringify({ Type: 'container', Action, Actor: { ID, Attributes } })}\n`)
  }

  #key(id: string): string {
    return [...this.containers].find(([key, { name }]) => key === id || name === `/${id}`)?.[0] ?? id
  }

  #get(id: string): FakeContainer | undefined {
    return this.containers.get(this.#key(id))
  }
}

function inspected(Id: string, { name, request, state, createdMs }: FakeContainer): InspectedContainer {
  const { Labels, Image, User = '', Tty = false, OpenStdin = false, HostConfig } = request
  return {
    ...{ Id, Name: name, Created: new Date(createdMs).toISOString(), Image: imageId, State: state, HostConfig },
    Config: { Labels, Image, User, Tty, OpenStdin },
    Mounts: (HostConfig.Mounts ?? []).map(({ Source, Target, ReadOnly, BindOptions }) => ({
      ...{ Source, Destination: Target, RW: !ReadOnly, Propagation: BindOptions.Propagation },
    })),
  }
}

function json(status: number, value: object | undefined): PassedAnswer {
  async function* body(): AsyncGenerator<Uint8Array> {
    if (value !== undefined) yield Buffer.from(JSON.stringify(value))
  }
  return { status, headers: {}, rawHeaders: [], body: body() }
}
