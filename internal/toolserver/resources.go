package toolserver

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/threads"
	"leslie/internal/app/views"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file has the resources: a thread's context, the list of its artifacts, and each of
// them.

// threadURI begins the address of what belongs to a thread.
const threadURI = "leslie://thread/"

// maxResource is the size of the largest artifact that is sent.
const maxResource = 4 << 20

// maxListed is how many threads are listed; the others have an address all the same.
const maxListed = 200

func contextURI(id thread.ThreadID) string { return threadURI + string(id) + "/context" }

// addResources adds the addresses that are no list.
func (s *server) addResources() {
	for _, t := range []*mcp.ResourceTemplate{
		{Name: "context", Title: "A thread's context", URITemplate: threadURI + "{thread}/context", MIMEType: "text/plain", Description: "what the thread's agent has to know; reading it marks no message as read"},
		{Name: "artifacts", Title: "A thread's artifacts", URITemplate: threadURI + "{thread}/artifacts", MIMEType: "application/json", Description: "the list of its files"},
		{Name: "artifact", Title: "An artifact", URITemplate: threadURI + "{thread}/artifacts/{+path}", Description: "one of its files"},
	} {
		s.mcp.AddResourceTemplate(t, s.read)
	}
}

// listThreads brings the list of resources up to date: the contexts of threads that have not
// ended. The library tells its clients if it has changed.
func (s *server) listThreads(ctx context.Context) {
	project, err := s.project()
	if err != nil {
		return
	}
	d, err := threads.List(project.Call(ctx, s.who(), app.Request{Command: "list", ReadOnly: true}), threads.ListRequest{})
	if err != nil {
		return
	}
	fresh := map[string]*mcp.Resource{}
	for _, t := range d.Items.Items {
		if !t.Status.Terminated() && (len(fresh) < maxListed || string(t.ThreadID) == s.who().Thread) {
			uri := contextURI(t.ThreadID)
			fresh[uri] = &mcp.Resource{URI: uri, Name: string(t.ThreadID), Title: t.Title, MIMEType: "text/plain", Description: "the context of a thread, which is " + string(t.Status)}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri := range s.listed {
		if fresh[uri] == nil {
			s.mcp.RemoveResources(uri)
			delete(s.listed, uri)
		}
	}
	for uri, r := range fresh {
		if _, known := s.listed[uri]; !known {
			s.mcp.AddResource(r, s.read)
			s.listed[uri] = struct{}{}
		}
	}
}

// place is what an address names.
type place struct {
	thread string
	what   string // context or artifacts
	path   string // of an artifact, "" for the list
}

func placeOf(uri string) (p place, ok bool) {
	rest, ok := strings.CutPrefix(uri, threadURI)
	if !ok {
		return p, false
	}
	p.thread, rest, _ = strings.Cut(rest, "/")
	p.what, p.path, _ = strings.Cut(rest, "/")
	for _, part := range []*string{&p.thread, &p.path} {
		plain, err := url.PathUnescape(*part)
		if err != nil {
			return p, false
		}
		*part = plain
	}
	known := p.what == "context" && p.path == "" || p.what == "artifacts"
	return p, known && p.thread != ""
}

// read reads a resource.
func (s *server) read(request context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	ctx, cancel := s.during(request)
	defer cancel()
	p, ok := placeOf(req.Params.URI)
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	project, err := s.project()
	if err != nil {
		return nil, protocolError(err, "context", false)
	}
	op := project.Call(ctx, s.who(), app.Request{Command: p.what, ReadOnly: true})
	content, err := s.content(op, p)
	if err != nil {
		return nil, protocolError(err, p.what, op.Changed())
	}
	content.URI = req.Params.URI
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{content}}, nil
}

// content is the content of a resource.
func (s *server) content(op *app.Call, p place) (*mcp.ResourceContents, error) {
	switch {
	case p.what == "context":
		_, block, err := s.Context(op, p.thread, false)
		return &mcp.ResourceContents{MIMEType: "text/plain", Text: block}, err
	case p.path == "":
		d, err := artifacts.Artifacts(op, artifacts.ArtifactsRequest{Thread: p.thread})
		if err != nil {
			return nil, err
		}
		raw, err := fact.JSON(d)
		return &mcp.ResourceContents{MIMEType: "application/json", Text: string(raw)}, err
	}
	if problem := views.FileFault(p.thread + ":" + p.path); problem != "" {
		return nil, codes.InvalidArgument.New(fact.Of("reason", quoted(p.thread+":"+p.path)+" "+problem))
	}
	d, err := views.ShowFile(op, views.ShowFileRequest{File: p.thread + ":" + p.path})
	switch {
	case err != nil:
		return nil, err
	case d.Size > maxResource:
		return nil, codes.TooLarge.New(fact.Of("what", p.path), fact.Of("limit", "4 MiB"), fact.Of("threadId", d.Version.ThreadID))
	case d.Encoding != "utf-8":
		return &mcp.ResourceContents{MIMEType: "application/octet-stream", Blob: d.Raw}, nil
	}
	mime := "text/plain"
	if strings.HasSuffix(p.path, ".md") {
		mime = "text/markdown"
	}
	return &mcp.ResourceContents{MIMEType: mime, Text: d.Content}, nil
}

// protocolError is a failure where the protocol has no place for a result: its data has
// what every error has.
func protocolError(err error, command string, changed bool) error {
	e := app.Failed(err, command, changed)
	raw, _ := fact.JSON(app.ReplyOf(e)) // a failure can always be encoded
	out := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: string(e.Code()) + ": " + e.Error() + ". " + e.Hint(), Data: raw}
	switch e.Code() {
	case codes.ThreadNotFound, codes.AmbiguousID, codes.ScopeNotFound, codes.MergeNotFound, codes.InvalidArgument, codes.UnsafePath:
		out.Code = jsonrpc.CodeInvalidParams
	}
	return out
}

// isNotFound reports whether an error is the library's for what it does not know.
func isNotFound(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && e.Code == jsonrpc.CodeInvalidParams && len(e.Data) == 0
}
