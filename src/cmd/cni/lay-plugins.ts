/** Our network plugins as programs in a directory, for container runtimes to call. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { plugins } from '#network/cni/chain.ts'
import { chainPlugin, type PluginServer } from '#network/cni/plugin-server.ts'

const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'
const main = join(import.meta.dirname, `main.${extension}`)
const bash = '/bin/bash'

/** `server`: who does the work where it answers; a process is started for each call where it does not. */
export async function layPlugins(directory: string, files: Files, server?: Pick<PluginServer, 'port' | 'token'>): Promise<void> {
  await files.makeDirectory(directory, { mode: 0o755 })
  // Other shells know no sockets.
  const called = server !== undefined && (await files.stat(bash)) !== undefined ? server : undefined
  for (const type of [chainPlugin, ...Object.keys(plugins)]) {
    const path = join(directory, type)
    const text = script(type, called)
    if ((await files.readTextIfPresent(path)) !== text) await files.write(path, text, { mode: 0o700 })
  }
}

function script(type: string, server: Pick<PluginServer, 'port' | 'token'> | undefined): string {
  const cache = thisProcess.environment['NODE_COMPILE_CACHE']
  const keeping = cache === undefined ? '' : `export NODE_COMPILE_CACHE=${quoted(cache)}\n`
  const start = `${keeping}exec ${quoted(thisProcess.executable)} ${quoted(main)} ${quoted(type)}\n`
  return server === undefined ? `#!/bin/sh\n${start}` : `#!${bash}\n${callScript(type, server)}${start}`
}

/** Goes on where nobody listens. */
const callScript = (type: string, { port, token }: Pick<PluginServer, 'port' | 'token'>): string => `export LC_ALL=C
if { exec 3<>/dev/tcp/127.0.0.1/${port}; } 2>/dev/null; then
  IFS= read -r -d '' input
  # A kubelet that ends now may not end this program, which has an answer to give.
  trap '' PIPE
  printf '%s\\n' ${token} ${quoted(type)} "CNI_COMMAND=$CNI_COMMAND" "CNI_CONTAINERID=$CNI_CONTAINERID" "CNI_NETNS=$CNI_NETNS" \\
    "CNI_IFNAME=$CNI_IFNAME" "CNI_PATH=$CNI_PATH" "CNI_ARGS=$CNI_ARGS" '' "\${#input}" "$input" 2>/dev/null >&3
  if read -r code <&3; then
    while IFS= read -r line || [ -n "$line" ]; do printf '%s\\n' "$line"; done <&3
    exit "$code"
  fi
  echo '{"cniVersion":"1.0.0","code":11,"msg":"the kubelet has ended meanwhile; try again later"}'
  exit 1
fi
`

/** For a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
