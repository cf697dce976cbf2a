import type { Host } from '#cli/host.ts'
/** placeholder until the builder is here */
export async function buildKustomization(_host: Host, directory: string): Promise<string> {
  throw new Error(`kustomization ${directory} cannot be built yet`)
}
