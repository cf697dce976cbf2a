/** `kubectl kustomize` */
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { buildKustomization } from '#cli/kustomize/build.ts'

export async function kustomize({ args, flags, host }: Call): Promise<void> {
  if (args.length > 1) throw new CliError('specify one path to kustomization.yaml')
  const text = await buildKustomization(host, args[0] ?? '.')
  const path = flags.text('output')
  if (path === '') host.write(text)
  else await host.files.write(path, text, { mode: 0o644 })
}
