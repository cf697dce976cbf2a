import { join } from 'node:path'
import type { Files } from '#base/files.ts'

export const usualDockerEndpoint = 'unix:///var/run/docker.sock'

/** Written down for those who come to clean up, and for the next start. */
export const endpointFile = (directory: string): string => join(directory, 'endpoint')

/** The Docker that was used with a directory; undefined where none was. */
export const dockerEndpointOf = async (directory: string, { files }: { files: Files }): Promise<string | undefined> =>
  (await files.readTextIfPresent(endpointFile(directory)))?.trim()
