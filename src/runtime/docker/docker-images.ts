/** Images in Docker, in the words of CRI. */
import { resolve } from 'node:path'
import { parseImageReference } from '#api/core/v1/pod-spec/image-reference.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { thisProcessor } from '#base/system-calls.ts'
import { dockerArchive } from '#runtime/docker/docker-archive.ts'
import { type DockerClient, DockerError, ifFound } from '#runtime/docker/docker-client.ts'
import { eventsIn } from '#runtime/docker/docker-events.ts'
import type { DockerImage } from '#runtime/docker/docker-types.ts'
import type { AuthConfig, CriImage } from '#wire/cri/cri-types.ts'

type Progress = { error?: string; errorDetail?: { message?: string }; stream?: string }

export class DockerImages {
  readonly #docker: DockerClient
  readonly #files: Files
  readonly #sandboxImage: string

  constructor(docker: DockerClient, files: Files, sandboxImage: string) {
    this.#docker = docker
    this.#files = files
    this.#sandboxImage = sandboxImage
  }

  async list(name: string): Promise<CriImage[]> {
    if (name !== '') return [await this.find(name)].filter((image) => image !== undefined)
    const images = await this.#docker.json<DockerImage[]>('GET', '/images/json')
    return images.map((image) => this.#view(image))
  }

  async find(name: string): Promise<CriImage | undefined> {
    const image = await ifFound(this.#docker.json<DockerImage>('GET', `/images/${encodeURI(name)}/json`))
    return image === undefined ? undefined : this.#view(image)
  }

  /** Resolves with the image's id. */
  async pull(name: string, auth: AuthConfig | undefined): Promise<string> {
    const reference = parseImageReference(name)
    if (reference === undefined)
      throw new GrpcError(grpcCodes.invalidArgument, `failed to parse image reference "${name}": invalid reference format`)
    const { repository, tag, digest } = reference
    const query = { fromImage: repository, tag: digest ?? tag ?? 'latest' }
    const what = `failed to pull image "${name}"`
    const body = await this.#docker.stream('POST', '/images/create', { query, headers: authHeaders(auth) }).catch((error: unknown) => {
      throw error instanceof DockerError ? new GrpcError(error.code, `${what}: ${error.message}`) : error
    })
    await lastOf(body, what)
    const image = await this.find(digest === undefined ? name : `${repository}@${digest}`)
    if (image === undefined) throw new GrpcError(grpcCodes.notFound, `Docker has pulled the image ${name}, and does not show it`)
    return image.id
  }

  async remove(name: string): Promise<void> {
    const image = await this.find(name)
    if (image === undefined || image.pinned) return
    const isId = name === image.id || name === image.id.replace('sha256:', '')
    // Docker removes an image with several names by each of them alone.
    const names = isId ? [...image.repoTags, ...image.repoDigests] : [name]
    for (const each of names) await ifFound(this.#docker.json('DELETE', `/images/${encodeURI(each)}`))
    if (isId) await ifFound(this.#docker.json('DELETE', `/images/${image.id}`))
  }

  /** From an archive on this machine; resolves with the names of the images that came in. */
  async import(archiveFile: string): Promise<string[]> {
    await using file = await this.#files.open(resolve(archiveFile), 'r')
    const headers = { 'content-type': 'application/x-tar' }
    const body = await this.#docker.stream('POST', '/images/load', {
      query: { quiet: true },
      headers,
      content: dockerArchive(file, thisProcessor),
    })
    const said = await lastOf(body, `failed to load images of ${archiveFile}`)
    return said.flatMap(({ stream = '' }) => /^Loaded image(?: ID)?: (\S+)/.exec(stream)?.[1] ?? [])
  }

  async usedBytes(): Promise<number> {
    return (await this.#docker.json<DockerImage[]>('GET', '/images/json')).reduce((sum, { Size }) => sum + Size, 0)
  }

  #view({ Id, RepoTags, RepoDigests, Size, Config }: DockerImage): CriImage {
    const [user = ''] = (Config?.User ?? '').split(':')
    const isNumber = user === '' || /^\d+$/.test(user)
    const named = (names: readonly string[] | null | undefined) => (names ?? []).filter((name) => !name.startsWith('<none>'))
    const repoTags = named(RepoTags)
    return {
      ...{ id: Id, repoTags, repoDigests: named(RepoDigests), size: Size, pinned: repoTags.includes(this.#sandboxImage) },
      ...(isNumber && { uid: { value: Number(user || 0) } }),
      username: isNumber ? '' : user,
    }
  }
}

/** Docker tells of failures in what it says on the way. */
async function lastOf(body: AsyncIterable<Uint8Array>, what: string): Promise<Progress[]> {
  const said: Progress[] = []
  for await (const each of eventsIn(body) as AsyncIterable<unknown> as AsyncIterable<Progress>) {
    const failure = each.errorDetail?.message ?? each.error
    if (failure !== undefined) {
      const isMissing = /not found|manifest unknown/.test(failure)
      throw new GrpcError(isMissing ? grpcCodes.notFound : grpcCodes.unknown, `${what}: ${failure}`)
    }
    if (each.stream !== undefined) said.push(each)
  }
  return said
}

function authHeaders(auth: AuthConfig | undefined): Record<string, string> {
  if (auth === undefined) return {}
  const { serverAddress = '', identityToken = '', registryToken = '' } = auth
  const [name = '', ...rest] = auth.auth ? Buffer.from(auth.auth, 'base64').toString().split(':') : []
  const username = auth.username || name
  const password = auth.password || rest.join(':')
  const config = { username, password, serveraddress: serverAddress, identitytoken: identityToken, registrytoken: registryToken }
  // Of the form for URLs, but filled up: Docker takes it for nothing otherwise.
  return { 'x-registry-auth': Buffer.from(JSON.stringify(config)).toString('base64').replaceAll('+', '-').replaceAll('/', '_') }
}
